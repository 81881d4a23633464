import { isQuittanceError } from 'quittance/internal/base/error';

/** An error of the operating system, such as a missing folder or a full disk. It says nothing about a ledger. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error &&
  !isQuittanceError(error) &&
  'syscall' in error &&
  'code' in error &&
  typeof error.code === 'string';

/** Why the operating system refused a file or a folder, in words. Undefined for other errors. */
export const whyRefused = (error: unknown): string | undefined =>
  isSystemError(error) ? reasons[error.code ?? ''] : undefined;

/** What failed and why, for an error that names its file. Otherwise the message of the error. */
export function describeSystemError(error: NodeJS.ErrnoException): string {
  const why = whyRefused(error);
  return why === undefined || error.path === undefined ? error.message : `Cannot use ${error.path}: ${why}.`;
}

const reasons: Readonly<Partial<Record<string, string>>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
  ENOENT: 'there is no such file or folder',
  EEXIST: 'a file with that name exists',
  EISDIR: 'it is a folder, not a file',
  ENOTDIR: 'a file is part of its path',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its symbolic links form a circle',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EMFILE: 'this process has too many open files',
  ENFILE: 'this machine has too many open files',
};
