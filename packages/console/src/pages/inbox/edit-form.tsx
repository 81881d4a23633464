/**
 * Other arguments for a held call, in a form made from the tool's schema. The server tries them before they are sent: a
 * problem is shown at its field, the typed values stay, and the question stays open.
 */
import type { ReactNode, SubmitEvent } from 'react';
import { useState } from 'react';
import type { JsonObject } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import type { TriedEdit } from '@quittance/server/internal/http/api/confirmation';
import type { ToolDetail } from '@quittance/server/internal/http/api/tool';
import type { Consent, HowRead } from '@quittance/react/src/use-consent.ts';
import type { ToolCallView } from 'quittance/internal/view/tool-call-view';
import type { ApiError } from '../../api/client.ts';
import { pathOf, send } from '../../api/client.ts';
import { toApiError, useAnswer } from '../../api/use-answer.ts';
import { SchemaForm } from '../../schema-form/schema-form.tsx';
import { useSchemaForm } from '../../schema-form/use-schema-form.ts';
import { editableJson } from 'quittance/internal/view/pretty-json';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Problem } from '../../ui/problem.tsx';
import { RuleLink } from '../../ui/rule-link.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';

type Props = {
  readonly call: ToolCallView;
  readonly consent: Consent;
  /** Has the shown text stayed the same for a moment? */
  readonly isStill: () => boolean;
  readonly howRead: HowRead;
  readonly onClose: () => void;
};

export function EditForm(props: Props): ReactNode {
  const { call } = props;
  const base = call.acceptedInput ?? call.input;
  const input = isJsonObject(base) ? base : {};
  // A field would not show invisible characters, and could not hold the mask of a number. JSON text can.
  const isPlain = call.hidden.length === 0 && editableJson(input) === JSON.stringify(input, undefined, 2);
  const { data, error } = useAnswer<ToolDetail>(isPlain ? pathOf('tools', call.toolName) : undefined);
  if (isPlain && data === undefined && error === undefined) return <Skeleton rows={4} />;
  return <Fields {...props} input={input} schema={data?.schema} />;
}

function Fields({
  call,
  consent,
  isStill,
  howRead,
  onClose,
  input,
  schema,
}: Props & { readonly input: JsonObject; readonly schema: JsonObject | undefined }): ReactNode {
  const form = useSchemaForm(schema, input);
  const [wasSent, setSent] = useState(false);
  const [isTyped, setTyped] = useState(false);
  const { trial, error, isTrying, run } = useTrial(consent.confirmation.confirmationId);
  const key = form.reading.ok ? JSON.stringify(form.reading.value) : undefined;
  // Problems that the server found are about the arguments it was sent.
  const refused = trial?.answer.ok === false && trial.of === key ? trial.answer : undefined;
  const isBusy = isTrying || consent.status !== 'ready';
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setSent(true);
    const { reading } = form;
    if (!reading.ok || isBusy) return;
    run(reading.value, () => {
      if (isStill()) consent.edit(reading.value, undefined, howRead);
    });
  };
  return (
    <form
      className="edit-form"
      aria-label="Edited arguments"
      onSubmit={submit}
      noValidate
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        // Typed values are only discarded by the button.
        if (!isTyped) onClose();
      }}
      onInput={() => setTyped(true)}
    >
      <SchemaForm
        form={form}
        label="Arguments to run with instead"
        problems={refused?.problems ?? []}
        showsAll={wasSent}
        disabled={isBusy}
      />
      {refused !== undefined && (
        <div className="problem" role="alert">
          <p>
            <ForeignText text={refused.message} />
          </p>
          {refused.ruleId !== undefined && (
            <p>
              Rule <RuleLink ruleId={refused.ruleId} policyVersion={undefined} />
            </p>
          )}
        </div>
      )}
      {error !== undefined && <Problem error={error} />}
      <p className="muted">
        {call.hidden.length > 0 && 'A hidden value keeps its original if you leave its mask unchanged. '}
        The rules are asked before the edit is sent.
      </p>
      <div className="actions">
        <button type="submit" className="primary" aria-disabled={isBusy}>
          {isTrying ? 'Trying…' : 'Run with these'}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** Asks the server whether the arguments could run. Decides nothing. */
function useTrial(confirmationId: string): {
  readonly trial: { readonly of: string; readonly answer: TriedEdit } | undefined;
  readonly error: ApiError | undefined;
  readonly isTrying: boolean;
  readonly run: (edited: JsonObject, onGood: () => void) => void;
} {
  const [trial, setTrial] = useState<{ readonly of: string; readonly answer: TriedEdit } | undefined>(
    undefined,
  );
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [isTrying, setTrying] = useState(false);
  const run = (edited: JsonObject, onGood: () => void): void => {
    setTrying(true);
    setError(undefined);
    send<TriedEdit>(pathOf('confirmations', confirmationId, 'try'), { arguments: edited })
      .then(
        (answer) => {
          setTrial({ of: JSON.stringify(edited), answer });
          if (answer.ok) onGood();
        },
        (reason: unknown) => setError(toApiError(reason)),
      )
      .finally(() => setTrying(false));
  };
  return { trial, error, isTrying, run };
}
