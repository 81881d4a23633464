import type { ReactNode } from 'react';
import { TextDiff } from '../../ui/text-diff.tsx';
import type { Documents } from './use-draft.ts';

type Props = { readonly before: Documents; readonly after: Documents };

/** What the draft changes, compared with the rules in force. */
export function DraftChanges({ before, after }: Props): ReactNode {
  const changed = after.flatMap(({ name, text }) => {
    const old = before.find((each) => each.name === name)?.text ?? '';
    return old === text ? [] : [{ name, old, text }];
  });
  return (
    <details className="draft-changes">
      <summary>Changes to the rules in force</summary>
      {changed.map(({ name, old, text }) => (
        <TextDiff key={name} name={name} before={old} after={text} />
      ))}
    </details>
  );
}
