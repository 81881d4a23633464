/** What was permitted beforehand: by whom, for how long, and how often it was used. */
import type { ReactNode } from 'react';
import { useState } from 'react';
import { safeJson, safeText } from '../../../../src/base/safe-text.ts';
import type { GrantList } from '../../../../src/http/api/confirmation.ts';
import type { GrantStatus, GrantView } from '../../../../src/runtime/grant-view.ts';
import { remainingTime } from '../../../../src/view/remaining-time.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { addressOf, goTo } from '../../router.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Age, useNow } from '../../ui/time.tsx';
import { GrantForm } from './grant-form.tsx';
import { RevokeForm } from './revoke-form.tsx';

const tones: { readonly [Status in GrantStatus]: Tone } = {
  active: 'good',
  used_up: 'quiet',
  expired: 'quiet',
  revoked: 'bad',
};

const snippet = `await runtime.grant({
  sessionId: 'ticket-42',
  toolName: 'refund',
  where: { 'args.cents': { lte: 5000 } },
  forMs: 3_600_000,
  uses: 3,
  by: 'ada',
});`;

export function Grants({ sessionId }: { readonly sessionId: string }): ReactNode {
  const list = useAnswer<GrantList>(
    '/v1/grants',
    { sessionId: sessionId === '' ? undefined : sessionId },
    { everyMs: 10_000 },
  );
  const may = useMay('approver');
  const [giving, setGiving] = useState(false);
  const [revoking, setRevoking] = useState<GrantView>();
  const { data, error, reload } = list;
  const rows = data?.rows.toSorted(byUse) ?? [];
  return (
    <>
      <div className="actions">
        <label className="grants-session">
          <span className="hidden">Session</span>
          <input
            type="search"
            data-search
            placeholder="Session: exact name"
            value={sessionId}
            onChange={({ currentTarget: { value } }) =>
              goTo(addressOf(['inbox'], { tab: 'grants', session: value }), { replace: true })
            }
          />
        </label>
        {may && (
          <button type="button" className="primary" onClick={() => setGiving(true)}>
            Give a grant…
          </button>
        )}
      </div>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {data === undefined ? (
        error === undefined && <Skeleton rows={5} />
      ) : rows.length === 0 ? (
        <Empty
          title={sessionId === '' ? 'Nothing is permitted beforehand' : 'This session has no grants'}
          snippet={snippet}
        >
          A grant answers for you: such calls of this tool, in this session, for so long. Give one here, from
          a question in the inbox, or from code:
        </Empty>
      ) : (
        <div className="card wide-table">
          <table>
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">Tool</th>
                <th scope="col">Where</th>
                <th scope="col">Session</th>
                <th scope="col">Given by</th>
                <th scope="col" className="roomy">
                  Reason
                </th>
                <th scope="col" className="num">
                  Used
                </th>
                <th scope="col" className="num">
                  Left
                </th>
                <th scope="col" className="num roomy">
                  Age
                </th>
                {may && (
                  <th scope="col">
                    <span className="hidden">Revoke</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((grant) => (
                <Row
                  key={`${grant.sessionId} ${grant.grantId}`}
                  grant={grant}
                  may={may}
                  onRevoke={() => setRevoking(grant)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {data?.capped === true && (
        <p className="muted">Those of the newest sessions. Name a session to see all of its grants.</p>
      )}
      {giving && (
        <GrantForm
          like={{ sessionId, toolName: '', input: undefined, hidden: [] }}
          onClose={() => setGiving(false)}
          onGiven={reload}
        />
      )}
      {revoking !== undefined && (
        <RevokeForm grant={revoking} onClose={() => setRevoking(undefined)} onRevoked={reload} />
      )}
    </>
  );
}

/** Those in force first, newest on top. */
const byUse = (one: GrantView, other: GrantView): number =>
  Number(other.status === 'active') - Number(one.status === 'active') || other.givenAt - one.givenAt;

function Row({
  grant,
  may,
  onRevoke,
}: {
  readonly grant: GrantView;
  readonly may: boolean;
  readonly onRevoke: () => void;
}): ReactNode {
  const { status, toolName, where, sessionId, by, reason, used, uses, until, givenAt, revoked } = grant;
  const now = useNow(1_000);
  return (
    <tr>
      <td>
        <span className="badge" data-tone={tones[status]}>
          <span className="dot" aria-hidden="true" />
          {status.replace('_', ' ')}
        </span>
      </td>
      <td>
        <code>{safeText(toolName)}</code>
      </td>
      <td className="wraps">
        {where === undefined ? <span className="muted">any arguments</span> : <code>{safeJson(where)}</code>}
      </td>
      <td className="wraps">
        <Link to={addressOf(['sessions', sessionId])}>{safeText(sessionId)}</Link>
      </td>
      <td>{safeText(by)}</td>
      <td className="wraps muted roomy">
        {revoked === undefined
          ? safeText(reason ?? '')
          : safeText(`Revoked by ${revoked.by}${revoked.reason === undefined ? '' : `: ${revoked.reason}`}`)}
      </td>
      <td className="num">
        {used}
        {uses !== undefined && ` of ${uses}`}
      </td>
      <td className="num">
        {status !== 'active' ? '–' : until === undefined ? 'no end' : remainingTime(until - now)}
      </td>
      <td className="num roomy">
        <Age at={givenAt} />
      </td>
      {may && (
        <td className="num">
          {status === 'active' && (
            <button
              type="button"
              className="danger small"
              onClick={onRevoke}
              aria-label={`Revoke the grant for ${safeText(toolName)}`}
            >
              Revoke…
            </button>
          )}
        </td>
      )}
    </tr>
  );
}
