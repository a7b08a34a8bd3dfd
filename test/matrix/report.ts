/** What the matrix found, as text and as docs/matrix.md. */
import { BEHAVIOURS } from './behaviours.ts'
import { CLIENTS } from './clients.ts'
import { SERVERS } from './replicas.ts'
import { type Cell, type ScenarioResult, VICTIMS, type Victim } from './scenario.ts'

interface KillCount {
  kills: number
  /** Calls with the right result, of two in each run. */
  right: number
  /** Calls that ended with an error, or a result that is one. */
  told: number
  violations: number
}

const SERVER_NAMES = { ours: 'stateless', http: 'session era, HTTP', stdio: 'session era, stdio' } as const

export class Report {
  readonly #cells = new Map<string, string[]>()
  readonly #kills = new Map<Victim, KillCount>()
  readonly violations: string[] = []
  orphans = 0

  get kills(): number {
    return [...this.#kills.values()].reduce((sum, { kills }) => sum + kills, 0)
  }

  ran(cell: Cell, { violations }: ScenarioResult): void {
    this.#cells.set(nameOf(cell), [...violations])
    this.#note(cell, 'left alone', violations)
  }

  killed(cell: Cell, victim: Victim, { killed, ends, violations }: ScenarioResult): void {
    if (!killed) return
    const count = this.#kills.get(victim) ?? { kills: 0, right: 0, told: 0, violations: 0 }
    this.#kills.set(victim, count)
    count.kills++
    for (const end of ends) {
      if (end.kind === 'result' && end.isRight) count.right++
      else if (end.kind !== 'hung') count.told++
    }
    count.violations += violations.length
    this.#note(cell, `${victim} killed`, violations)
  }

  text(): string {
    return [
      ...this.#table(),
      '',
      ...this.#killTable(),
      '',
      `Violations: ${this.violations.length}`,
      ...this.violations,
    ].join('\n')
  }

  markdown(): string {
    return `# Two gateways behind a plain balancer

Written by \`npm run matrix\`. Official clients of both eras call servers of both eras through two gateways, which are
processes of their own, behind a balancer that sends each request to the next. Two callers run everything at once, with
different answers. A cell works when both got their own result.

${this.#table().join('\n')}

Then one process is killed (SIGKILL; a client closes its connections) before one of the messages between clients,
gateways and servers goes on. After each kill both callers must have heard a result or an error, no effect may have
happened twice except of a tool that says it may run twice, and nobody may have seen what belongs to the other.

${this.#killTable().join('\n')}

Violations: ${this.violations.length}. Processes of servers left behind: ${this.orphans}. Lists, pagination, log messages, URL
mode and tasks are not in the matrix yet.
`
  }

  #table(): string[] {
    const columns = CLIENTS.flatMap((client) => SERVERS.map((server) => ({ client, server })))
    const head = columns.map(({ client, server }) => `${client} → ${SERVER_NAMES[server]}`)
    const rows = Object.keys(BEHAVIOURS).map((behaviour) => {
      const marks = columns.map((column) => this.#mark({ ...column, behaviour }))
      return `| ${behaviour} | ${marks.join(' | ')} |`
    })
    return [`| behaviour | ${head.join(' | ')} |`, `|---|${columns.map(() => '---|').join('')}`, ...rows]
  }

  #mark(cell: Cell): string {
    const violations = this.#cells.get(nameOf(cell))
    if (violations === undefined) return 'not run'
    return violations.length === 0 ? 'works' : 'fails'
  }

  #killTable(): string[] {
    const rows = VICTIMS.map((victim) => {
      const { kills, right, told, violations } = this.#kills.get(victim) ?? {
        kills: 0,
        right: 0,
        told: 0,
        violations: 0,
      }
      return `| ${victim} | ${kills} | ${right} | ${told} | ${violations} |`
    })
    return [
      '| killed | times | calls with their result | calls with an error | violations |',
      '|---|---|---|---|---|',
      ...rows,
    ]
  }

  #note(cell: Cell, trouble: string, violations: readonly string[]): void {
    for (const violation of violations) this.violations.push(`${nameOf(cell)}, ${trouble}: ${violation}`)
  }
}

function nameOf({ client, server, behaviour }: Cell): string {
  return `${client} → ${server}, ${behaviour}`
}
