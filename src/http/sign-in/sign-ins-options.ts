import type { Seal } from '../../ledger/seal.ts';
import type { StoredContent } from '../../runtime/host/stored-content.ts';
import type { Provider } from './provider.ts';
import type { SignInContent } from '../../runtime/host/sign-in-content.ts';
import type { SignInSettings } from './sign-in-options.ts';

/** The parts that sign-ins are made of. */
export type SignInsOptions = {
  readonly content: StoredContent<SignInContent>;
  readonly settings: SignInSettings;
  readonly provider: Provider;
  readonly seal: Seal;
  readonly now: () => number;
  /** Receives errors of the provider that no person sees. */
  readonly onError: (error: unknown) => void;
};
