import type { ReactNode } from 'react';
import { useMemo } from 'react';
import { DiffBlock } from '@quittance/react/src/preview-block.tsx';
import '../../../react/src/react.css';
import { unifiedDiff } from './unified-diff.ts';

type Props = {
  /** Name of the compared text. */
  readonly name: string;
  readonly before: string;
  readonly after: string;
};

/** Diff of two texts. */
export function TextDiff({ name, before, after }: Props): ReactNode {
  const diff = useMemo(() => unifiedDiff(before, after), [before, after]);
  if (diff === '') return <p className="muted">No differences.</p>;
  return (
    <div className="qt-card text-diff">
      <DiffBlock path={name} diff={diff} />
    </div>
  );
}
