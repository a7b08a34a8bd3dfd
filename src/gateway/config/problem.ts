import { ClientError } from '../../client/index.ts'
import type { EntryProblem, FieldPath } from '../../client/internal.ts'

/** A problem in a configuration. */
export interface ConfigProblem {
  /** Absent if the configuration is no file. */
  readonly file?: string
  readonly line?: number
  /** `servers.github.pannier.state`. */
  readonly key: string
  readonly code: EntryProblem['code']
  /** Follows the key. It never quotes a value. */
  readonly sentence: string
}

/** All problems of a configuration, one per line. */
export class GatewayConfigError extends ClientError {
  override readonly name = 'GatewayConfigError'
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    super('CONFIG_INVALID', problems.map(problemText).join('\n'))
    this.problems = problems
  }
}

/** `mcp.json:14: servers.github.pannier.state must be "auto", "stateless" or "stateful".` */
export function problemText({ file, line, key, sentence }: ConfigProblem): string {
  const where = file === undefined ? '' : line === undefined ? `${file}: ` : `${file}:${line}: `
  return `${where}${key} ${sentence}`.trimEnd()
}

/** The path in JavaScript notation. */
export function keyText(path: FieldPath): string {
  const parts = path.map((part) => {
    if (typeof part === 'number') return `[${part}]`
    return /^[A-Za-z_$][\w$-]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`
  })
  return parts.join('').replace(/^\./, '')
}
