/** The last call of the same tool that succeeded, and how the arguments differ from it. */
import type { ReactNode } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import type { CallPage } from '@quittance/server/internal/http/api/call';
import { toShownArguments } from 'quittance/internal/ledger/listed-call';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../route.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Age } from '../../ui/time.tsx';

export function LastSimilarCall({ question }: { readonly question: ConfirmationView }): ReactNode {
  const { data, error, reload } = useAnswer<CallPage>('/v1/calls', {
    toolName: question.toolName,
    outcome: 'ToolExecutionResult',
    limit: 2,
  });
  if (data === undefined && error !== undefined) return <Problem error={error} onRetry={reload} />;
  const last = data?.rows.find(({ callId }) => callId !== question.callId);
  if (last === undefined) return null;
  const [before, now] = [last.args ?? {}, toShownArguments(question.effectiveInput) ?? {}];
  const paths = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const changed = paths.filter((path) => textOf(before[path]) !== textOf(now[path]));
  return (
    <section className="card">
      <header>
        <h3>Compared with the last successful call of this tool</h3>
        <Link to={addressOf(['calls', last.sessionId, last.callId])}>
          <Age at={last.requestedAt} /> ago
        </Link>
      </header>
      {changed.length === 0 ? (
        <p className="body muted">The arguments are the same.</p>
      ) : (
        <div className="scroll-x" role="group" aria-label="Changed arguments" tabIndex={0}>
          <table className="card-rows">
            <thead>
              <tr>
                <th scope="col">Argument</th>
                <th scope="col">Last call</th>
                <th scope="col">This call</th>
              </tr>
            </thead>
            <tbody>
              {changed.map((path) => (
                <tr key={path}>
                  <th scope="row">
                    <code>
                      <ForeignText text={path} />
                    </code>
                  </th>
                  <td data-label="Last call" className="muted">
                    <ForeignText text={textOf(before[path])} />
                  </td>
                  <td data-label="This call">
                    <ForeignText text={textOf(now[path])} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

const textOf = (value: JsonValue | undefined): string =>
  value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
