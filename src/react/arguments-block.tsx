import type { ReactNode } from 'react';
import type { ToolCallView } from '../view/tool-call-view.ts';
import { CodeBlock, JsonBlock } from './code-block.tsx';
import { ShownText } from './shown-text.tsx';

/** What the tool gets, and what the model had asked where that was something else. */
export function ArgumentsBlock({
  call: { input, requestedInput, hidden, wasCoerced, wasEdited },
  isWhole = false,
}: {
  readonly call: ToolCallView;
  readonly isWhole?: boolean;
}): ReactNode {
  if (input === undefined) return <p className="qt-note">The arguments were not seen here.</p>;
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
            {wasEdited ? 'Edited by a person' : wasCoerced ? 'Mended to fit the schema' : 'Changed'}: see what
            the model asked
          </summary>
          <div className="qt-inside">
            {typeof requestedInput === 'string' ? (
              <CodeBlock label="Arguments as the model gave them" text={requestedInput} />
            ) : (
              <JsonBlock label="Arguments as the model gave them" value={requestedInput} />
            )}
          </div>
        </details>
      )}
      {hidden.length > 0 && (
        <p className="qt-note">
          Not shown: <ShownText text={hidden.join(', ')} />. The tool gets the real values.
        </p>
      )}
    </>
  );
}
