import type { FormEvent, ReactNode } from 'react';
import { useEffect, useState } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { ContractsExplanation, ContractsInForce } from '@quittance/server/internal/http/api/contract';
import type { ToolDetail, ToolList } from '@quittance/server/internal/http/api/tool';
import { prettyJson } from 'quittance/internal/view/pretty-json';
import type { ApiError } from '../../api/client.ts';
import { pathOf, send } from '../../api/client.ts';
import { toApiError, useAnswer } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { useRoute } from '../../route.ts';
import { IdInput } from '../../ui/id-input.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Problem } from '../../ui/problem.tsx';
import { sampleOf } from '../../ui/sample-of.ts';
import { ExplanationView } from './explanation-view.tsx';
import { JsonField } from './json-field.tsx';
import type { TriedCall } from './tried-call.ts';
import { emptyCall, readTriedCall } from './tried-call.ts';
import type { Draft } from './use-draft.ts';

type Props = { readonly inForce: ContractsInForce; readonly draft: Draft };

/** Shows how the rules would decide about a call, without making it. */
export function TryTab({ inForce, draft }: Props): ReactNode {
  const mayTry = useMay('operator');
  const { call, change, tools } = useTriedCall(useRoute().query.get('tool') ?? '');
  const [byDraft, setByDraft] = useState(!inForce.loaded);
  const { explained, error, busy, explain } = useExplanation();
  const read = readTriedCall(call);
  const ask = (event: FormEvent): void => {
    event.preventDefault();
    if (read.ok) explain({ ...read.body, ...(byDraft && { documents: draft.documents }) });
  };
  const fields: CallFields = {
    call,
    change,
    problemOf: (field) => (read.ok ? undefined : read.problems.get(field)),
  };
  return (
    <div className="try">
      <form className="card" onSubmit={ask} aria-label="Test call">
        <div className="body try-form">
          <ToolField {...fields} tools={tools} />
          <JsonField
            label="Arguments"
            rows={7}
            value={call.input}
            problem={fields.problemOf('input')}
            onChange={(input) => change({ input, isTyped: true })}
          />
          <MoreFields {...fields} />
          <fieldset className="rules-choice">
            <legend>Rules</legend>
            <label>
              <input
                type="radio"
                name="rules"
                checked={!byDraft}
                disabled={!inForce.loaded}
                onChange={() => setByDraft(false)}
              />
              In force
            </label>
            <label>
              <input type="radio" name="rules" checked={byDraft} onChange={() => setByDraft(true)} />
              Draft{draft.isChanged ? '' : ' (no changes)'}
            </label>
          </fieldset>
          <div className="actions">
            <button
              type="submit"
              className="primary"
              disabled={!mayTry || busy || call.toolName === '' || !read.ok}
            >
              Test call
            </button>
            {!mayTry && <span className="muted">Only operators can test calls.</span>}
          </div>
        </div>
      </form>
      <div className="try-answer" aria-live="polite">
        {error !== undefined && <Problem error={error} />}
        {explained !== undefined ? (
          <ExplanationView explanation={explained} />
        ) : (
          error === undefined && (
            <Empty title="Test a call against the rules">
              Nothing runs and nothing is recorded. Each rule shows the values it checked and its result.
            </Empty>
          )
        )}
      </div>
    </div>
  );
}

/** The call in the form. Selecting a tool fills in its required arguments. */
function useTriedCall(toolName: string): {
  readonly call: TriedCall;
  readonly change: (fields: Partial<TriedCall>) => void;
  readonly tools: ToolList['rows'];
} {
  const [call, setCall] = useState<TriedCall>({ ...emptyCall, toolName });
  const tools = useAnswer<ToolList>('/v1/tools').data?.rows ?? [];
  const isKnown = tools.some(({ name }) => name === call.toolName);
  const detail = useAnswer<ToolDetail>(isKnown ? pathOf('tools', call.toolName) : undefined);
  const schema = detail.data?.tool.name === call.toolName ? detail.data.schema : undefined;
  useEffect(() => {
    if (schema === undefined) return;
    // Typed arguments are never overwritten.
    setCall((before) => (before.isTyped ? before : { ...before, input: prettyJson(sampleOf(schema)) }));
  }, [schema]);
  return { call, change: (fields) => setCall((before) => ({ ...before, ...fields })), tools };
}

function useExplanation(): {
  readonly explained: ContractsExplanation | undefined;
  readonly error: ApiError | undefined;
  readonly busy: boolean;
  readonly explain: (body: Readonly<Record<string, unknown>>) => void;
} {
  const [explained, setExplained] = useState<ContractsExplanation | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const explain = (body: Readonly<Record<string, unknown>>): void => {
    setBusy(true);
    setError(undefined);
    send<ContractsExplanation>('/v1/contracts/explain', body)
      .then(setExplained, (reason: unknown) => {
        setExplained(undefined);
        setError(toApiError(reason));
      })
      .finally(() => setBusy(false));
  };
  return { explained, error, busy, explain };
}

type CallFields = {
  readonly call: TriedCall;
  readonly change: (fields: Partial<TriedCall>) => void;
  readonly problemOf: (field: keyof TriedCall) => string | undefined;
};

function ToolField({ call, change, tools }: CallFields & { readonly tools: ToolList['rows'] }): ReactNode {
  /** The list offers display names; the call needs the exact name. */
  const exactName = (typed: string): string =>
    tools.find(({ name }) => safeId(name) === typed)?.name ?? typed;
  return (
    <>
      <label className="try-field">
        <span>Tool</span>
        <IdInput
          list="known-tools"
          required
          autoComplete="off"
          spellCheck={false}
          value={call.toolName}
          onValue={(typed) => change({ toolName: exactName(typed) })}
        />
      </label>
      <datalist id="known-tools">
        {tools.map(({ name }) => (
          <option key={name} value={safeId(name)} />
        ))}
      </datalist>
    </>
  );
}

/** Optional fields of the call. */
function MoreFields({ call, change, problemOf }: CallFields): ReactNode {
  return (
    <details>
      <summary>Principal, metadata, session and result</summary>
      <div className="try-form">
        <JsonField
          label="Principal"
          hint={'{ "userId": "ines", "role": "support" }'}
          rows={2}
          value={call.principal}
          problem={problemOf('principal')}
          onChange={(principal) => change({ principal })}
        />
        <JsonField
          label="Metadata"
          rows={2}
          value={call.metadata}
          problem={problemOf('metadata')}
          onChange={(metadata) => change({ metadata })}
        />
        <label className="try-field">
          <span>
            Session <small className="muted">limits use its counters</small>
          </span>
          <IdInput
            autoComplete="off"
            spellCheck={false}
            value={call.sessionId}
            onValue={(sessionId) => change({ sessionId })}
          />
        </label>
        <JsonField
          label="Result"
          hint="to test rules on results"
          rows={3}
          value={call.output}
          problem={problemOf('output')}
          onChange={(output) => change({ output })}
        />
      </div>
    </details>
  );
}
