import type { ComponentType, ReactNode } from 'react';
import { lazy, useState } from 'react';

/** A page and the function that loads its chunk. */
export type ShownPage = { readonly load: () => Promise<unknown>; readonly shown: ReactNode };

/**
 * A page in its own chunk. `lazy` alone shows a fallback even for a loaded chunk, and React keeps it for a third of a
 * second. This shows a loaded page at once.
 */
export function laterPage<Props extends object>(
  read: () => Promise<{ readonly default: ComponentType<Props> }>,
): (props: Props) => ShownPage {
  let here: ComponentType<Props> | undefined;
  const load = async (): Promise<{ readonly default: ComponentType<Props> }> => {
    const chunk = await read();
    here = chunk.default;
    return chunk;
  };
  const Later = lazy(load);
  function Page(props: Props): ReactNode {
    // Chosen once: switching components would discard the page's state.
    const [Shown] = useState<ComponentType<Props>>(() => here ?? Later);
    return <Shown {...props} />;
  }
  return (props) => ({ load, shown: <Page {...props} /> });
}
