import type { FormEvent, ReactNode } from 'react';
import { useEffect, useState } from 'react';
import { safeId } from '../../../../src/base/safe-id.ts';
import type { ContractsExplanation, ContractsInForce } from '../../../../src/http/api/contract.ts';
import type { ToolDetail, ToolList } from '../../../../src/http/api/tool.ts';
import { prettyJson } from '../../../../src/view/pretty-json.ts';
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

/** What the rules would say about a call that nobody makes. */
export function TryTab({ inForce, draft }: Props): ReactNode {
  const mayTry = useMay('operator');
  const wanted = useRoute().query.get('tool') ?? '';
  const [call, setCall] = useState<TriedCall>({ ...emptyCall, toolName: wanted });
  const [byDraft, setByDraft] = useState(!inForce.loaded);
  const [explained, setExplained] = useState<ContractsExplanation | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const tools = useAnswer<ToolList>('/v1/tools');
  /** The list offers names as they are shown. */
  const meantTool = (typed: string): string =>
    tools.data?.rows.find(({ name }) => safeId(name) === typed)?.name ?? typed;
  const isKnown = tools.data?.rows.some(({ name }) => name === call.toolName) ?? false;
  const detail = useAnswer<ToolDetail>(isKnown ? pathOf('tools', call.toolName) : undefined);
  const schema = detail.data?.tool.name === call.toolName ? detail.data.schema : undefined;

  // Of a tool that was chosen, the fields it needs are put in; what somebody typed is never touched.
  useEffect(() => {
    if (schema === undefined) return;
    setCall((before) => (before.isTyped ? before : { ...before, input: prettyJson(sampleOf(schema)) }));
  }, [schema]);

  const read = readTriedCall(call);
  const ask = (event: FormEvent): void => {
    event.preventDefault();
    if (!read.ok) return;
    setBusy(true);
    setError(undefined);
    send<ContractsExplanation>('/v1/contracts/explain', {
      ...read.body,
      ...(byDraft && { documents: draft.documents }),
    })
      .then(setExplained, (reason: unknown) => {
        setExplained(undefined);
        setError(toApiError(reason));
      })
      .finally(() => setBusy(false));
  };
  const change = (fields: Partial<TriedCall>): void => setCall((before) => ({ ...before, ...fields }));
  const problemOf = (field: keyof TriedCall): string | undefined =>
    read.ok ? undefined : read.problems.get(field);
  return (
    <div className="try">
      <form className="card" onSubmit={ask} aria-label="The call to try">
        <div className="body try-form">
          <label className="try-field">
            <span>Tool</span>
            <IdInput
              list="known-tools"
              required
              autoComplete="off"
              spellCheck={false}
              value={call.toolName}
              onValue={(typed) => change({ toolName: meantTool(typed) })}
            />
          </label>
          <datalist id="known-tools">
            {tools.data?.rows.map(({ name }) => (
              <option key={name} value={safeId(name)} />
            ))}
          </datalist>
          <JsonField
            label="Arguments"
            rows={7}
            value={call.input}
            problem={problemOf('input')}
            onChange={(input) => change({ input, isTyped: true })}
          />
          <details>
            <summary>On whose behalf, in which session, with what result</summary>
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
                  Session <small className="muted">whose counters limits are held against</small>
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
                hint="to judge what came of it too"
                rows={3}
                value={call.output}
                problem={problemOf('output')}
                onChange={(output) => change({ output })}
              />
            </div>
          </details>
          <fieldset className="rules-choice">
            <legend>By which rules</legend>
            <label>
              <input
                type="radio"
                name="rules"
                checked={!byDraft}
                disabled={!inForce.loaded}
                onChange={() => setByDraft(false)}
              />
              those in force
            </label>
            <label>
              <input type="radio" name="rules" checked={byDraft} onChange={() => setByDraft(true)} />
              the draft{draft.isChanged ? '' : ', which is not changed yet'}
            </label>
          </fieldset>
          <div className="actions">
            <button
              type="submit"
              className="primary"
              disabled={!mayTry || busy || call.toolName === '' || !read.ok}
            >
              What would happen?
            </button>
            {!mayTry && <span className="muted">Trying a call needs an operator.</span>}
          </div>
        </div>
      </form>
      <div className="try-answer" aria-live="polite">
        {error !== undefined && <Problem error={error} />}
        {explained !== undefined ? (
          <ExplanationView explanation={explained} />
        ) : (
          error === undefined && (
            <Empty title="What would the rules say?">
              Nothing runs and nothing is kept: the rules are asked about the call, and each tells what it
              looked at and what it found.
            </Empty>
          )
        )}
      </div>
    </div>
  );
}
