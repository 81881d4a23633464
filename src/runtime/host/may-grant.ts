import type { Awaitable } from '../../base/json.ts';
import type { Identity } from '../../call/event.ts';
import type { GrantView } from './grant-view.ts';

/** May a person give or revoke a grant? A text says why not. */
export type MayGrant = (
  actor: string,
  grant: GrantView,
  action: 'give' | 'revoke',
  /** How the person was identified. The stored identity, if a grant is checked again. */
  identity: Identity | undefined,
) => Awaitable<boolean | string>;
