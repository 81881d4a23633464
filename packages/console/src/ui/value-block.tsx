import type { ReactNode } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import { CodeBlock, JsonBlock } from '@quittance/react/src/code-block.tsx';
import '../../../react/src/react.css';

/** Shows a string as text and any other value as JSON. */
export function ValueBlock({
  label,
  value,
}: {
  readonly label: string;
  readonly value: JsonValue;
}): ReactNode {
  return (
    <div className="qt-card plain">
      {typeof value === 'string' ? (
        <CodeBlock label={label} text={value} />
      ) : (
        <JsonBlock label={label} value={value} />
      )}
    </div>
  );
}
