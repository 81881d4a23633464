import type { ReactNode } from 'react';
import { safeSentence } from '../base/safe-id.ts';
import { safeJson } from '../base/safe-text.ts';
import { ShownText } from './shown-text.tsx';
import { elapsedTime } from '../view/remaining-time.ts';
import type { ShownAttempt, ToolCallView } from '../view/tool-call-view.ts';
import { Disclosure } from './disclosure.tsx';
import { outcomeTitle, outcomeWord } from '../view/outcome-words.ts';

/** Destinations of an external tool, the log, and the attempts if there were several. */
export function TrailBlock({ call }: { readonly call: ToolCallView }): ReactNode {
  const { attempts, reached, log, startedAt } = call;
  return (
    <>
      {reached.length > 0 && (
        <div className="qt-reached">
          <span className="qt-label">Reached</span>
          <ul>
            {reached.map((place) => (
              <li key={place}>
                <ShownText text={place} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {attempts.length > 1 && (
        <Disclosure title={`${attempts.length} attempts`}>
          <ol className="qt-attempts">
            {attempts.map((attempt) => (
              <li key={attempt.attempt}>
                <ShownText text={attemptWords(attempt)} />
              </li>
            ))}
          </ol>
        </Disclosure>
      )}
      {log.length > 0 && (
        <Disclosure title={`Log (${log.length})`}>
          <ol className="qt-log">
            {log.map(({ at, message, fields }, index) => (
              <li key={index}>
                {startedAt !== undefined && <span className="qt-when">+{elapsedTime(at - startedAt)}</span>}
                <span>
                  <ShownText text={message} />
                  {fields !== undefined && <span className="qt-note"> {safeSentence(safeJson(fields))}</span>}
                </span>
              </li>
            ))}
          </ol>
        </Disclosure>
      )}
    </>
  );
}

function attemptWords({ outcome }: ShownAttempt): string {
  switch (outcome?.type) {
    case undefined:
      return 'Running';
    case 'ToolExecutionResult':
    case 'ToolArtifactReference':
      return `${outcomeTitle('succeeded')} after ${elapsedTime(outcome.elapsedMs)}`;
    case 'ToolTimeout':
      return `${outcomeTitle('timed_out')} after ${elapsedTime(outcome.elapsedMs)}`;
    case 'ToolFailure':
      return `${outcomeTitle(outcomeWord(outcome))}: ${outcome.error}`;
    case 'ToolDenied':
      return `${outcomeTitle('denied')}: ${outcome.details}`;
  }
}
