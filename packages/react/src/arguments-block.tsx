import type { ReactNode } from 'react';
import type { ToolCallView } from 'quittance/internal/view/tool-call-view';
import { CodeBlock, JsonBlock } from './code-block.tsx';
import { ShownText } from './shown-text.tsx';

/** The tool's input and, if it differs, the input the model requested. */
export function ArgumentsBlock({
  call: { input, requestedInput, hidden, wasCoerced, wasEdited },
  isWhole = false,
}: {
  readonly call: ToolCallView;
  readonly isWhole?: boolean;
}): ReactNode {
  if (input === undefined) return <p className="qt-note">The arguments are not available here.</p>;
  const differs = requestedInput !== undefined && requestedInput !== input;
  return (
    <>
      {typeof input === 'string' ? (
        <CodeBlock label="Arguments, as text" text={input} isWhole={isWhole} />
      ) : (
        <JsonBlock label="Arguments" value={input} isWhole={isWhole} />
      )}
      {differs && (
        <details className="qt-disclosure qt-small">
          <summary>
            {wasEdited ? 'Edited by a person' : wasCoerced ? 'Coerced to fit the schema' : 'Changed'}: show
            the requested arguments
          </summary>
          <div className="qt-inside">
            {typeof requestedInput === 'string' ? (
              <CodeBlock label="Arguments requested by the model" text={requestedInput} />
            ) : (
              <JsonBlock label="Arguments requested by the model" value={requestedInput} />
            )}
          </div>
        </details>
      )}
      {hidden.length > 0 && (
        <p className="qt-note">
          Hidden: <ShownText text={hidden.join(', ')} />. The tool receives the real values.
        </p>
      )}
    </>
  );
}
