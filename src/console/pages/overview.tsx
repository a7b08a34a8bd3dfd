/** What runs: the gateways, and each server with what it needs and why. */
import { count, HourChart } from '../parts/chart.tsx'
import { Live } from '../parts/live.tsx'
import { type Item, useTopic } from '../topic.ts'

export function Overview() {
  const state = useTopic('overview')
  const { gateways, servers } = joined(state.items ?? new Map())
  const up = servers.filter(({ item }) => item['condition'] === 'up').length
  return (
    <Live title="Overview" state={state}>
      <p class="lead">
        {up} of {count(servers.length, 'server')} up, behind {count(gateways.length, 'process')}.
      </p>
      <Warnings gateways={gateways} />
      <ul class="cards">
        {servers.map((server) => (
          <ServerCard key={server.name} {...server} />
        ))}
      </ul>
    </Live>
  )
}

function Warnings({ gateways }: { readonly gateways: readonly Item[] }) {
  const sentences = [
    ...new Set(gateways.flatMap(({ warnings }) => (Array.isArray(warnings) ? warnings.map(String) : []))),
  ]
  return (
    <>
      {sentences.map((sentence) => (
        <p key={sentence} class="banner warn">
          <bdi>{sentence}</bdi>
        </p>
      ))}
    </>
  )
}

interface JoinedServer {
  readonly name: string
  readonly item: Item
  readonly links: number
  readonly calls: readonly number[]
  readonly failures: readonly number[]
}

function ServerCard({ name, item, calls, failures }: JoinedServer) {
  return (
    <li class="card">
      <h2>
        <bdi>{name}</bdi>
      </h2>
      <p>{String(item['condition'])}</p>
      <HourChart calls={calls} failures={failures} />
    </li>
  )
}

/** The items of all processes as one list of servers: a server counts as up where all processes reach it. */
function joined(items: ReadonlyMap<string, Item>): { gateways: readonly Item[]; servers: readonly JoinedServer[] } {
  const gateways: Item[] = []
  const servers = new Map<string, JoinedServer>()
  const hours = new Map<string, Item[]>()
  for (const [key, item] of items) {
    const [process = '', kind, ...rest] = key.split('/')
    const name = rest.join('/')
    if (kind === 'gateway') gateways.push({ ...item, process })
    if (kind === 'hour') hours.set(name, [...(hours.get(name) ?? []), item])
    if (kind !== 'server') continue
    const before = servers.get(name)
    const worst = before === undefined || item['condition'] !== 'up' ? item : before.item
    servers.set(name, {
      name,
      item: worst,
      links: (before?.links ?? 0) + Number(item['links'] ?? 0),
      calls: [],
      failures: [],
    })
  }
  const sum = (name: string, of: string) =>
    (hours.get(name) ?? []).map((hour) => hour[of] as readonly number[]).reduce(added, NO_CALLS)
  const all = [...servers.values()].map((each) => ({
    ...each,
    calls: sum(each.name, 'calls'),
    failures: sum(each.name, 'failures'),
  }))
  return { gateways, servers: all }
}

function added(one: readonly number[], other: readonly number[]): readonly number[] {
  return one.map((value, at) => value + (other[at] ?? 0))
}

const NO_CALLS: readonly number[] = Array.from({ length: 60 }, () => 0)
