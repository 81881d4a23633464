import type { ReactNode } from 'react';
import type { ApiError } from '../api/client.ts';
import { Empty } from './empty.tsx';
import { ForeignId } from './foreign-text.tsx';
import { Link } from './link.tsx';

/** Does the ledger, or the server, have nothing under this id? */
export const isNotFound = (error: ApiError | undefined): boolean => error?.status === 404;

type Props = {
  /** Kind of thing, e.g. `session`. */
  readonly what: string;
  readonly id: string;
  /** Why it may be missing. */
  readonly children: ReactNode;
  /** The list to continue with. */
  readonly to: string;
  readonly list: string;
};

/** Not-found state of a page: names the id, says why it may be missing, and leads to the list. */
export const Missing = ({ what, id, children, to, list }: Props): ReactNode => (
  <Empty title={`${what.charAt(0).toUpperCase()}${what.slice(1)} not found`}>
    There is no {what}{' '}
    <code>
      <ForeignId id={id} />
    </code>
    . {children} <Link to={to}>{list}</Link>
  </Empty>
);

/** Reasons that most pages share. */
export const removedOrElsewhere =
  'Check the address. Retention may have removed it, or it belongs to another ledger.';
