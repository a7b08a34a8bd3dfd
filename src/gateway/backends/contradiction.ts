/** Two links to one server on which it says different things of itself: one of them is of before an upgrade. */
import { isDeepStrictEqual } from 'node:util'
import type { Link } from '../links/link.ts'

/** What a server has said when a link was opened. */
export type SaidOnLink = Pick<Link, 'era' | 'hasSession' | 'about'>

/** Whether what was found out on the one link may not hold on the other. */
export function contradict(one: SaidOnLink, other: SaidOnLink): boolean {
  return !isDeepStrictEqual(judgedBy(one), judgedBy(other))
}

function judgedBy({ era, hasSession, about }: SaidOnLink): object {
  const { name, version, architecture } = (about.info ?? {}) as Partial<Record<string, unknown>>
  return { era, hasSession, name, version, architecture, session: about.capabilities['session'] }
}
