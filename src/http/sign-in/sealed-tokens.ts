/** Tokens of the provider, sealed for one sign-in. */
import type { Seal } from '../../ledger/seal.ts';
import type { ProviderTokens } from './provider.ts';
import type { KeptSignIn } from '../../runtime/host/sign-in-content.ts';

const context = (signInId: string): string => `sign-in ${signInId}`;

export const sealTokens = (seal: Seal, signInId: string, tokens: ProviderTokens): string =>
  seal.seal(JSON.stringify(tokens), context(signInId));

/** Throws if they were sealed with another key. */
export const openTokens = (seal: Seal, { signInId, sealed }: KeptSignIn): ProviderTokens =>
  JSON.parse(seal.open(sealed, context(signInId))) as ProviderTokens; // written by sealTokens
