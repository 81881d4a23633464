/**
 * Makes a call as a person: the arguments come from a form, and the call passes every gate like one of an agent. The
 * server records who asked. Only tools of this server can run.
 */
import type { ReactNode, SubmitEvent } from 'react';
import { useRef, useState } from 'react';
import type { JsonObject } from 'quittance/internal/base/json';
import { safeId } from 'quittance/internal/base/safe-id';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import type { CallAnswer, NewCall } from '@quittance/server/internal/http/api/call';
import type { ToolDetail } from '@quittance/server/internal/http/api/tool';
import type { ApiError } from '../api/client.ts';
import { pathOf, send } from '../api/client.ts';
import { toApiError, useAnswer } from '../api/use-answer.ts';
import { useMe } from '../api/use-me.ts';
import { addressOf, goTo } from '../route.ts';
import { SchemaForm } from '../schema-form/schema-form.tsx';
import { useSchemaForm } from '../schema-form/use-schema-form.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ForeignText } from '../ui/foreign-text.tsx';
import { IdInput } from '../ui/id-input.tsx';
import { Link } from '../ui/link.tsx';
import { Problem } from '../ui/problem.tsx';
import { Skeleton } from '../ui/skeleton.tsx';
import type { RepeatedCall } from 'quittance/internal/view/repeat-input';
import './run-call.css';

export type RunRequest = {
  readonly toolName: string;
  readonly input: JsonObject;
  /** Paths of hidden values that must be entered again. */
  readonly missing: readonly string[];
  /** The call that is made again. */
  readonly repeats: RepeatedCall | undefined;
};

type Props = { readonly request: RunRequest; readonly onClose: () => void };

export function RunDialog({ request, onClose }: Props): ReactNode {
  const { toolName, repeats } = request;
  const { data, error, reload } = useAnswer<ToolDetail>(pathOf('tools', toolName));
  return (
    <Dialog title={`${repeats === undefined ? 'Run' : 'Run again'}: ${safeId(toolName)}`} onClose={onClose}>
      <div className="run-call">
        {error !== undefined && <Problem error={error} onRetry={reload} />}
        {data === undefined ? (
          error === undefined && <Skeleton rows={4} />
        ) : data.tool.known ? (
          <RunForm request={request} detail={data} onClose={onClose} />
        ) : (
          <NotHere />
        )}
      </div>
    </Dialog>
  );
}

const NotHere = (): ReactNode => (
  <>
    <p>
      This server cannot run the tool: the tool belongs to another process and is known only from the ledger.
    </p>
    <p className="muted">
      Start the server with the runtime that has the tool: <code>quittance serve --runtime runtime.ts</code>
    </p>
  </>
);

function RunForm({ request, detail, onClose }: Props & { readonly detail: ToolDetail }): ReactNode {
  const { toolName, missing, repeats } = request;
  const { name } = useMe();
  const form = useSchemaForm(detail.schema, request.input);
  const [fresh] = useState(() => `console-${crypto.randomUUID().slice(0, 8)}`);
  const [sessionId, setSessionId] = useState(fresh);
  const [wasSent, setSent] = useState(false);
  const { status, error, answer, run } = useRun(onClose);
  const callIdFor = useCallId(answer);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setSent(true);
    if (!form.reading.ok || status !== 'ready' || sessionId.trim() === '') return;
    const { value } = form.reading;
    const callId = callIdFor(JSON.stringify([sessionId, value]));
    run(newCall({ id: callId, name: toolName, arguments: value }, sessionId, repeats));
  };
  return (
    <form className="run-call-form" onSubmit={submit} noValidate>
      <p className="muted">
        The call passes every check and may need approval. The ledger records that <strong>{name}</strong>{' '}
        requested it
        {repeats?.principal?.userId !== undefined && (
          <>
            {' '}
            for <ForeignText text={repeats.principal.userId} />
          </>
        )}
        {detail.tool.handoff && ', and a worker process runs it'}.
      </p>
      {missing.length > 0 && (
        <p className="run-call-note">
          The record hides {missing.length === 1 ? 'a value' : 'values'}: <code>{missing.join(', ')}</code>.
          Enter {missing.length === 1 ? 'it' : 'them'} again.
        </p>
      )}
      <SchemaForm form={form} label="Arguments" showsAll={wasSent} disabled={status === 'sending'} />
      <details>
        <summary>
          Session <code>{safeId(sessionId)}</code>
        </summary>
        <label className="schema-field">
          <span className="hidden">Session</span>
          <IdInput value={sessionId} spellCheck={false} autoComplete="off" onValue={setSessionId} />
        </label>
        {repeats !== undefined && repeats.sessionId !== sessionId && (
          <button type="button" className="link" onClick={() => setSessionId(repeats.sessionId)}>
            Use the session of the first call
          </button>
        )}
        <p className="muted">Limits and checks for duplicates count the calls of one session.</p>
      </details>
      {error !== undefined && <Problem error={error} />}
      {answer !== undefined && <Refused answer={answer} />}
      <div className="actions">
        <button type="submit" className="primary" disabled={status === 'sending'}>
          {status === 'sending' ? 'Running…' : 'Run'}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** The call has an outcome that is not a success. The form stays open, so that the arguments can be corrected. */
function Refused({ answer }: { readonly answer: EndedBadly }): ReactNode {
  const { outcome, sessionId, callId, decision } = answer;
  const text = 'details' in outcome ? outcome.details : 'error' in outcome ? outcome.error : '';
  return (
    <div className="problem" role="alert">
      <p>
        {decision === 'deny' ? 'Denied' : 'Failed'}:{' '}
        <ForeignText text={typeof text === 'string' && text !== '' ? text : outcome.type} />
      </p>
      <Link to={addressOf(['calls', sessionId, callId])}>Open call</Link>
    </div>
  );
}

const endedBadly: ReadonlySet<string> = new Set<ToolOutcome['type']>([
  'ToolDenied',
  'ToolFailure',
  'ToolTimeout',
]);

type EndedBadly = Extract<CallAnswer, { readonly decision: 'deny' | 'settled' }>;

/**
 * The id of the call to make. It stays the same until the call has an answer or the form changes. If only the answer was
 * lost, the next try finds the call and does not make it twice.
 */
function useCallId(answer: EndedBadly | undefined): (subject: string) => string {
  const last = useRef<{ readonly subject: string; readonly id: string }>(undefined);
  return (subject) => {
    const isSame = last.current?.subject === subject && last.current.id !== answer?.callId;
    if (last.current === undefined || !isSame)
      last.current = { subject, id: `console_${crypto.randomUUID()}` };
    return last.current.id;
  };
}

const newCall = (call: NewCall['call'], sessionId: string, repeats: RepeatedCall | undefined): NewCall => ({
  sessionId,
  call,
  ...(repeats?.principal !== undefined && { principal: repeats.principal }),
  attrs: {
    requested_in: 'console',
    ...(repeats !== undefined && { repeats: { session_id: repeats.sessionId, call_id: repeats.callId } }),
  },
  waitMs: longestWaitMs,
  claim: false,
});

/** A slow call is opened while it runs. */
const longestWaitMs = 2_000;

function useRun(onClose: () => void): {
  readonly status: 'ready' | 'sending';
  readonly error: ApiError | undefined;
  readonly answer: EndedBadly | undefined;
  readonly run: (call: NewCall) => void;
} {
  const [status, setStatus] = useState<'ready' | 'sending'>('ready');
  const [error, setError] = useState<ApiError>();
  const [answer, setAnswer] = useState<EndedBadly>();
  const ask = async (call: NewCall): Promise<void> => {
    setStatus('sending');
    setError(undefined);
    setAnswer(undefined);
    try {
      const found = await send<CallAnswer>('/v1/calls', call);
      if ('outcome' in found && endedBadly.has(found.outcome.type)) setAnswer(found);
      else {
        onClose();
        goTo(addressOf(['calls', found.sessionId, found.callId]));
      }
    } catch (thrown) {
      setError(toApiError(thrown));
    }
    setStatus('ready');
  };
  return { status, error, answer, run: (call) => void ask(call) };
}
