import type { ReactNode } from 'react';
import type { ContractsExplanation } from '@quittance/server/internal/http/api/contract';
import type { FiredRule } from 'quittance/internal/policy/language/ruling';
import { Banner } from '../../ui/banner.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import { RuleExplanationCard } from './rule-explanation-card.tsx';

type Ruling = ContractsExplanation['ruling'];
type OutputRuling = NonNullable<ContractsExplanation['output']>;

const words: {
  readonly [Decision in Ruling['decision']]: { readonly tone: Tone; readonly text: string };
} = {
  allow: { tone: 'good', text: 'Allowed: the call runs' },
  ask: { tone: 'attention', text: 'Held: the call needs approval' },
  block: { tone: 'bad', text: 'Blocked: the call does not run' },
};
const outputWords: {
  readonly [Decision in OutputRuling['decision']]: { readonly tone: Tone; readonly text: string };
} = {
  pass: { tone: 'good', text: 'The model receives the result unchanged' },
  warn: { tone: 'attention', text: 'The model receives the result with a warning' },
  redact: { tone: 'attention', text: 'Parts of the result are redacted' },
  block: { tone: 'bad', text: 'The model does not receive the result' },
};

/** How the rules would decide about a call, and why. */
export function ExplanationView({
  explanation: { ruling, output, rules, workflows, policyVersion },
}: {
  readonly explanation: ContractsExplanation;
}): ReactNode {
  const asked = rules.filter(({ verdict }) => verdict !== 'other_tool');
  const others = rules.length - asked.length;
  return (
    <>
      <Verdict {...words[ruling.decision]} by={ruling.decidedBy}>
        Policy <code title={policyVersion}>{digestLabel(policyVersion)}</code>
      </Verdict>
      {output !== undefined && <Verdict {...outputWords[output.decision]} by={output.decidedBy} />}
      {workflows.map(({ workflow, stageBefore, decision, message }) => (
        <section key={workflow} className="card explained">
          <header>
            <h2 className="explained-name">
              Workflow <ForeignText text={workflow} />
            </h2>
            <span className="muted">{decision}</span>
          </header>
          <p className="body">
            {stageBefore !== undefined && (
              <>
                Current stage: <ForeignText text={stageBefore} />.{' '}
              </>
            )}
            {message !== undefined && <ForeignText text={message} />}
          </p>
        </section>
      ))}
      {asked.map((rule) => (
        <RuleExplanationCard key={rule.ruleId} explained={rule} />
      ))}
      <p className="muted">
        {asked.length === 0 && 'No rule applies to this tool. '}
        {others > 0 && `${others} more ${others === 1 ? 'rule applies' : 'rules apply'} to other tools.`}
      </p>
    </>
  );
}

type VerdictProps = {
  readonly tone: Tone;
  readonly text: string;
  readonly by: FiredRule | undefined;
  readonly children?: ReactNode;
};

function Verdict({ tone, text, by, children }: VerdictProps): ReactNode {
  return (
    <Banner tone={tone} title={text}>
      {by !== undefined && (
        <p>
          <code>
            <ForeignText text={by.ruleId} />
          </code>
          : <ForeignText text={by.message} />
        </p>
      )}
      {children !== undefined && <p className="muted">{children}</p>}
    </Banner>
  );
}
