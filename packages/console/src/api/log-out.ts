import { send } from './client.ts';

/** Ends the login of this browser. With an identity provider, its page ends its own session too. */
export async function logOut(): Promise<void> {
  const answer = await send<{ readonly next?: string } | undefined>('/logout', undefined);
  window.localStorage.removeItem('quittance.page-key');
  window.location.assign(answer?.next ?? '/login');
}
