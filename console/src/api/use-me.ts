import { createContext, useContext } from 'react';
import type { Me, Role } from '../../../src/http/api/access.ts';

/** Who is logged in. Pages below the frame always have somebody. */
export const MeContext = createContext<Me | undefined>(undefined);

export function useMe(): Me {
  const me = useContext(MeContext);
  if (me === undefined) throw new Error('Nobody is logged in.');
  return me;
}

/** Whether whoever is logged in may do what needs this role. */
export const useMay = (role: Role): boolean => useMe().may.includes(role);
