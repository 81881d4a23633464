import type { ReactNode } from 'react';
import { addressOf } from '../route.ts';
import { ForeignText } from './foreign-text.tsx';
import { Link } from './link.tsx';

type Props = {
  readonly ruleId: string;
  /** The version of the rules that decided. The rule may have changed since. */
  readonly policyVersion: string | undefined;
};

/** A rule by its id, with a link to its line in the document. */
export const RuleLink = ({ ruleId, policyVersion }: Props): ReactNode => (
  <Link to={addressOf(['contracts', 'documents'], { rule: ruleId, version: policyVersion })}>
    <code>
      <ForeignText text={ruleId} />
    </code>
  </Link>
);
