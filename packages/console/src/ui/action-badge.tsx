import type { ReactNode } from 'react';
import type { Tone } from './outcome-badge.tsx';

const tones: Readonly<Record<string, Tone>> = {
  block: 'bad',
  deny: 'bad',
  ask: 'attention',
  approve: 'attention',
  warn: 'active',
  redact: 'active',
  allow: 'good',
  pass: 'good',
};

/** The action of a rule, or a decision. */
export function ActionBadge({ action }: { readonly action: string }): ReactNode {
  return (
    <span className="badge" data-tone={Object.hasOwn(tones, action) ? tones[action] : 'quiet'}>
      {action}
    </span>
  );
}
