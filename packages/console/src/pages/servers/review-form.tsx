import type { ReactNode } from 'react';
import { useId, useRef, useState } from 'react';
import type { McpToolDetail, NewToolReview } from '@quittance/server/internal/http/api/mcp';
import type { ToolMode } from 'quittance/internal/tool/mode';
import type { ApiError } from '../../api/client.ts';
import { pathOf, send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { modeWords } from '../../ui/mode-words.ts';
import { Problem } from '../../ui/problem.tsx';
import '../../styles/inbox.css';
import '../../styles/reconcile.css';

type Choice = ToolMode | 'ask' | 'block';

/** Of every mode: its meaning, and what the gateway does. */
const modeChoices: readonly { readonly mode: ToolMode; readonly means: string }[] = [
  { mode: 'read', means: 'It changes nothing. It runs.' },
  { mode: 'safe_write', means: 'It changes something within bounds. It runs.' },
  {
    mode: 'external',
    means: 'It reaches outside services, or its reach is unknown. It runs and is recorded.',
  },
  { mode: 'local', means: 'It touches this machine. It asks.' },
  { mode: 'destructive', means: 'It cannot be reversed. It asks.' },
];

type Props = {
  readonly detail: McpToolDetail;
  /** The server lists another version by now. */
  readonly isOutdated: boolean;
  readonly onAnswered: (next: McpToolDetail) => void;
};

/** Takes the answer of a person about the tool on the screen. */
export function ReviewForm({ detail, isOutdated, onAnswered }: Props): ReactNode {
  const { tool } = detail;
  const may = useMay('approver');
  const stem = useId();
  const { chosen, choose, problem, refusal, sending, submit, forget } = useReview(detail, onAnswered);
  if (!may)
    return (
      <p className="body muted">
        A user with the role <code>approver</code> can answer.
      </p>
    );
  return (
    <form
      className="dialog-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isOutdated) void submit();
      }}
    >
      <fieldset className="choices">
        <legend className="hidden">What may the tool do?</legend>
        {modeChoices.map(({ mode, means }) => (
          <Option key={mode} name={stem} value={mode} chosen={chosen} onChoose={choose} means={means}>
            Allow as {modeWords[mode]}
            {mode === tool.proposed && <span className="chip">proposed</span>}
          </Option>
        ))}
        <Option
          name={stem}
          value="ask"
          chosen={chosen}
          onChoose={choose}
          means="A person decides about every call."
        >
          Ask every time
        </Option>
        <Option
          name={stem}
          value="block"
          chosen={chosen}
          onChoose={choose}
          means="It never runs, and clients do not see it. It stays blocked if it changes."
        >
          Block
        </Option>
      </fieldset>
      {problem !== undefined && (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      )}
      {refusal !== undefined && <Problem error={refusal} />}
      <div className="actions">
        <button type="submit" className="primary" aria-disabled={sending || isOutdated}>
          {sending ? 'Saving…' : 'Save answer'}
        </button>
        {(tool.status === 'approved' || tool.status === 'blocked') && detail.answer !== undefined && (
          <button type="button" onClick={() => void forget()} aria-disabled={sending}>
            Withdraw answer
          </button>
        )}
        <span className="muted">The answer holds for exactly this description and schema.</span>
      </div>
    </form>
  );
}

const Option = ({
  name,
  value,
  chosen,
  onChoose,
  means,
  children,
}: {
  readonly name: string;
  readonly value: Choice;
  readonly chosen: Choice | undefined;
  readonly onChoose: (choice: Choice) => void;
  readonly means: string;
  readonly children: ReactNode;
}): ReactNode => (
  <label className="choice">
    <input
      type="radio"
      name={`${name}choice`}
      value={value}
      checked={chosen === value}
      onChange={() => onChoose(value)}
    />
    <span>
      <strong className="choice-name">{children}</strong>
      <span className="muted">{means}</span>
    </span>
  </label>
);

function useReview(
  { server: { serverId }, tool }: McpToolDetail,
  onAnswered: (next: McpToolDetail) => void,
): {
  readonly chosen: Choice | undefined;
  readonly choose: (choice: Choice) => void;
  readonly problem: string | undefined;
  readonly refusal: ApiError | undefined;
  readonly sending: boolean;
  readonly submit: () => Promise<void>;
  readonly forget: () => Promise<void>;
} {
  // Nothing is chosen in advance: an answer must be a decision.
  const [chosen, setChosen] = useState<Choice>();
  const [problem, setProblem] = useState<string>();
  const [refusal, setRefusal] = useState<ApiError>();
  const [sending, setSending] = useState(false);
  // A ref, not state: the second of two clicks in the same moment must see it.
  const locked = useRef(false);
  const path = pathOf('mcp', 'servers', serverId);
  const post = async (address: string, body: object): Promise<void> => {
    if (locked.current) return;
    locked.current = true;
    setSending(true);
    setRefusal(undefined);
    try {
      onAnswered(await send<McpToolDetail>(address, body));
    } catch (thrown) {
      setRefusal(toApiError(thrown));
    }
    locked.current = false;
    setSending(false);
  };
  return {
    chosen,
    choose(choice) {
      setChosen(choice);
      setProblem(undefined);
    },
    problem,
    refusal,
    sending,
    async submit() {
      if (chosen === undefined) setProblem('Select what the tool may do.');
      else await post(`${path}/review`, toReview(chosen, { tool: tool.name, digest: tool.digest }));
    },
    forget: () => post(`${path}/forget`, { tool: tool.name }),
  };
}

function toReview(choice: Choice, about: { readonly tool: string; readonly digest: string }): NewToolReview {
  if (choice === 'ask' || choice === 'block') return { ...about, verdict: choice };
  return { ...about, verdict: 'allow', mode: choice };
}
