import type { SignInView } from '../api/sign-in.ts';
import type { SignIn } from './sign-in.ts';

export const toSignInView = ({
  signInId,
  kind,
  person: { issuer, subject, name, groups },
  role,
  createdAt,
  seenAt,
  verifiedAt,
  endsAt,
}: SignIn): SignInView => ({
  signInId,
  kind,
  issuer,
  subject,
  name,
  groups,
  role,
  createdAt,
  seenAt,
  verifiedAt,
  endsAt,
});
