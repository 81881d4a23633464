import type { Principal } from '../tool/tool-context.ts';

/** The user or service on whose behalf a call is made, as messages name it. */
export const ownerOf = (principal: Principal | undefined): string | undefined =>
  principal?.userId ?? principal?.serviceId;
