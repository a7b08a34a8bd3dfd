/** Addresses of pages: `#/calls/ID`. The parts after the name go to the page. */
import type { ConsoleVisitor } from '../gateway/internal.ts'

export interface PageProps {
  /** The parts of the address after the name of the page. */
  readonly path: readonly string[]
  readonly visitor: ConsoleVisitor
}

export function linkTo(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`
}

export function readHash(hash: string): readonly string[] {
  const parts = hash.replace(/^#\/?/, '').split('/').filter(Boolean)
  return parts.map((part) => {
    try {
      return decodeURIComponent(part)
    } catch {
      return part
    }
  })
}
