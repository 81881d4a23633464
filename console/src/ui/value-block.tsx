import type { ReactNode } from 'react';
import type { JsonValue } from '../../../src/base/json.ts';
import { CodeBlock, JsonBlock } from '../../../src/react/code-block.tsx';
import '../../../src/react/react.css';

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
