import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function Sessions(_props: { readonly query: URLSearchParams }): ReactNode {
  return <PageHead title="Sessions" />;
}
