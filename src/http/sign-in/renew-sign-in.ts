/** Asks the provider whether a person may still sign in. */
import { hashSecret, isSecretOf } from '../../runtime/host/token-content.ts';
import type { Verified } from './provider.ts';
import { ProviderError } from './provider.ts';
import { roleOf } from './role-of.ts';
import { openTokens, sealTokens } from './sealed-tokens.ts';
import type { KeptSignIn } from '../../runtime/host/sign-in-content.ts';
import { newSignInSecret } from './sign-in-secret.ts';
import type { SignInsOptions } from './sign-ins-options.ts';
import { isSamePerson, retire, withPerson, withSignIn } from './with-sign-in.ts';

/** A secret that replaces the one of the request; undefined if that stays valid. */
export type NewSecret = { readonly secret: string } | undefined;

const mostReplaced = 8;
/** A server that began to renew and did not finish within this time has crashed. */
const renewWithinMs = 30_000;

/** Renews a sign-in, unless another server does. After a refusal, the sign-in is removed. */
export async function renewSignIn(
  options: SignInsOptions,
  signInId: string,
  /** The secret of the request. */
  given: string,
  isUse: boolean,
): Promise<NewSecret> {
  const kept = await claim(options, signInId);
  if (kept === undefined) return undefined;
  const { content, now, settings, seal, onError } = options;
  let verified: Verified;
  try {
    verified = await ask(options, kept);
  } catch (error) {
    if (!(error instanceof ProviderError) || error.kind !== 'unreachable') return forget(options, kept);
    onError(error);
    await content.change((current) =>
      withSignIn(current, signInId, (each) => ({ ...each, renewingAt: undefined })),
    );
    return undefined;
  }
  const secret = kept.kind === 'browser' ? newSignInSecret(signInId) : undefined;
  const at = now();
  await content.change((current) => {
    // The person may have been signed out meanwhile. Then nothing of theirs may come back.
    if (!current.signIns.some((each) => each.signInId === signInId)) return undefined;
    const known = withPerson(
      current,
      verified.person,
      at,
      settings.lifetimeMs,
      roleOf(settings, verified.person),
    );
    return withSignIn(known, signInId, (each) => ({
      ...each,
      person: verified.person,
      providerSession: verified.providerSession ?? each.providerSession,
      sealed: sealTokens(seal, signInId, verified.tokens),
      verifiedAt: at,
      seenAt: isUse ? at : each.seenAt,
      renewingAt: undefined,
      ...(secret !== undefined && {
        hash: hashSecret(secret),
        replaced: [
          { hash: each.hash, retiredAt: undefined },
          ...(isSecretOf(each.hash, given) ? retire(each.replaced, at) : each.replaced),
        ].slice(0, mostReplaced),
      }),
    }));
  });
  return secret === undefined ? undefined : { secret };
}

/** One server at a time: a refresh token works once. */
async function claim(
  { content, now, settings }: SignInsOptions,
  signInId: string,
): Promise<KeptSignIn | undefined> {
  let claimed: KeptSignIn | undefined;
  await content.change((current) => {
    const each = current.signIns.find((one) => one.signInId === signInId);
    claimed = undefined;
    if (each === undefined || now() < each.verifiedAt + settings.refreshMs) return undefined;
    if (each.renewingAt !== undefined && now() < each.renewingAt + renewWithinMs) return undefined;
    claimed = each;
    return withSignIn(current, signInId, (one) => ({ ...one, renewingAt: now() }));
  });
  return claimed;
}

async function ask({ provider, seal, settings }: SignInsOptions, kept: KeptSignIn): Promise<Verified> {
  const { refreshToken, ...tokens } = openTokens(seal, kept);
  if (refreshToken === undefined) throw new ProviderError('invalid', 'There is no refresh token.');
  const verified = await provider.renew(kept.person, { ...tokens, refreshToken });
  if (roleOf(settings, verified.person) === undefined)
    throw new ProviderError('refused', 'None of the groups of the person has a role.');
  return verified;
}

/** The provider no longer confirms the person. Links that they made end too. */
async function forget({ content }: SignInsOptions, { signInId, person }: KeptSignIn): Promise<undefined> {
  await content.change((current) => ({
    ...current,
    signIns: current.signIns.filter((each) => each.signInId !== signInId),
    devices: current.devices.filter(
      ({ signedIn }) => signedIn === undefined || !isSamePerson(signedIn.person, person),
    ),
    people: current.people.filter((known) => !isSamePerson(known.person, person)),
  }));
  return undefined;
}
