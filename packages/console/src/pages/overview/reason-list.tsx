import type { ReactNode } from 'react';
import type { Stats } from '@quittance/server/internal/http/api/stats';
import { ForeignId } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { Prose } from '../../ui/prose.tsx';
import type { CallsAddress } from './calls-address.ts';
import { CountOf } from './ranked-list.tsx';

type Props = {
  readonly codes: Stats['codes'];
  readonly of: number;
  /** Shown if there are no reasons. */
  readonly none: string;
  readonly callsAt: CallsAddress;
};

/** Reasons for calls that did not succeed: how often, which tools, and what to do about it. */
export function ReasonList({ codes, of, none, callsAt }: Props): ReactNode {
  if (codes.length === 0) return <p className="muted">{none}</p>;
  return (
    <ul className="reasons">
      {codes.slice(0, 6).map(({ code, title, count, denied, whatToDo, tools }) => (
        <li key={code} data-tone={denied ? 'quiet' : 'bad'}>
          <Link to={callsAt({ code })} className="ranked-label">
            {title ?? (
              <code>
                <ForeignId id={code} />
              </code>
            )}
          </Link>
          <span className="num">
            <CountOf count={count} of={of} />
          </span>
          <p className="reason-tools">
            <code className="muted">
              <ForeignId id={code} />
            </code>
            {tools.map(({ toolName, count: calls }) => (
              <Link key={toolName} to={callsAt({ code, toolName })} className="chip">
                <ForeignId id={toolName} /> {calls.toLocaleString()}
              </Link>
            ))}
          </p>
          {whatToDo !== undefined && (
            <p className="ranked-note muted">
              <Prose text={whatToDo} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
