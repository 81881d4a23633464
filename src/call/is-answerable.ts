import type { Ask } from './event.ts';

/** Asks that a grant may answer. Anything not listed here needs a person. */
export function isAnswerable({ by, code, stage }: Ask): boolean {
  if (code !== undefined || stage !== undefined) return false;
  switch (by.type) {
    case 'hook':
    case 'rule':
      return true;
    case 'gate':
      return by.name === 'mode';
    case 'person':
      return false;
  }
}
