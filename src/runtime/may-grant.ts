import type { Awaitable } from '../base/json.ts';
import type { GrantView } from './grant-view.ts';

/** Says whether somebody may give a standing permission, or take one back; a text says why not. */
export type MayGrant = (
  actor: string,
  grant: GrantView,
  action: 'give' | 'revoke',
) => Awaitable<boolean | string>;
