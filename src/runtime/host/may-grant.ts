import type { Awaitable } from '../../base/json.ts';
import type { Identity } from '../../call/event.ts';
import type { GrantView } from './grant-view.ts';

/** Says whether somebody may give a standing permission, or take one back; a text says why not. */
export type MayGrant = (
  actor: string,
  grant: GrantView,
  action: 'give' | 'revoke',
  /** How the person was identified; as it was kept, where a grant is looked at again. */
  identity: Identity | undefined,
) => Awaitable<boolean | string>;
