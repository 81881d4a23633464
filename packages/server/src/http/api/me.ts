import type { ConsoleView } from './console.ts';
import type { Role } from './role.ts';
import type { Integer, Timestamp } from './scalar.ts';
import type { SignInView } from './sign-in.ts';

/** `GET /v1/me`: the caller. */
export type Me = {
  /** The name of the token, or of the person who signed in. It is stored with every decision. */
  readonly name: string;
  readonly role: Role;
  readonly by: 'token' | 'cookie';
  /** When the token expires, or the sign-in ends at the latest. A token without this never expires. */
  readonly expiresAt: Timestamp | undefined;
  /** For a person who signed in with an identity provider. */
  readonly signIn: SignInView | undefined;
  /** The roles that this role includes. Pages use it to hide what the caller may not do. */
  readonly may: readonly Role[];
  readonly console: ConsoleView;
};

/** `GET /v1/me/questions`: open questions that wait for the caller. */
export type MyQuestions = {
  /** How many of the newest 100 open questions the caller may answer and has not answered. */
  readonly count: Integer;
  /** There are older open questions, which are not counted. */
  readonly more: boolean;
  /** The newest of them, at most ten. */
  readonly rows: readonly MyQuestion[];
};
export type MyQuestion = {
  readonly confirmationId: string;
  /** For people: without control characters, and with ids that look like secrets masked. */
  readonly tool: string;
};
