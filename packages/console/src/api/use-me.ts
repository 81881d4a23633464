import { createContext, useContext } from 'react';
import type { Me } from '@quittance/server/internal/http/api/me';
import type { Role } from '@quittance/server/internal/http/api/role';

/** The logged-in user. Always set for pages inside the frame. */
export const MeContext = createContext<Me | undefined>(undefined);

export function useMe(): Me {
  const me = useContext(MeContext);
  if (me === undefined) throw new Error('useMe needs a logged-in user.');
  return me;
}

/** Does the logged-in user have this role? */
export const useMay = (role: Role): boolean => useMe().may.includes(role);
