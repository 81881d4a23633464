import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function Tools(): ReactNode {
  return <PageHead title="Tools" />;
}
