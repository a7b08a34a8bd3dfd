/** A change left by hand: its place, the code, the reason and the advice. */
export interface Finding {
  readonly path: string
  readonly line: number
  readonly what: string
  readonly why: string
  readonly how: string
}

export class Findings {
  readonly #found = new Map<string, Finding>()

  add({ path, line }: { path: string; line: number }, what: string, why: string, how: string): void {
    const finding = { path, line, what, why, how }
    this.#found.set(JSON.stringify(finding), finding)
  }

  get all(): Finding[] {
    return [...this.#found.values()].toSorted((a, b) => a.path.localeCompare(b.path) || a.line - b.line)
  }
}

export function findingText({ path, line, what, why, how }: Finding): string {
  return `${path}:${line}\n  what  ${what}\n  why   ${why}\n  how   ${how}`
}
