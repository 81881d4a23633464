import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { ContentDocument } from '../content-document.ts';
import { ContentFile } from '../content-file.ts';
import type { StoredContent, SignInContent } from 'quittance/internal/runtime/tokens';
import { signInFormat } from 'quittance/internal/runtime/tokens';

export const signInFilePath = (ledgerPath: string): string => `${ledgerPath}.sign-ins`;

/** Sign-ins are next to the file of the ledger, in its database, or in this process. */
export const openSignInContent = (
  { documents }: Pick<OpenLedger, 'documents'>,
  path: string | undefined,
): StoredContent<SignInContent> =>
  path === undefined && documents !== undefined
    ? new ContentDocument(documents, 'sign-ins', signInFormat)
    : new ContentFile(path === undefined ? undefined : signInFilePath(path), signInFormat);
