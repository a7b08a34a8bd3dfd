/** What runs: each server with what it needs and why, and the gateways of the fleet. */
import { useRef } from 'preact/hooks'
import { count, HourChart } from '../parts/chart.tsx'
import { Live } from '../parts/live.tsx'
import { type Item, textOf, useTopic } from '../topic.ts'
import { type JoinedServer, joinedServers } from './joinedServers.ts'

export function Overview() {
  const state = useTopic('overview')
  const { gateways, servers } = joinedServers(state.items ?? new Map<string, Item>())
  const up = servers.filter(({ item }) => item['condition'] === 'up').length
  return (
    <Live title="Overview" state={state}>
      <p class="lead">
        {up} of {count(servers.length, 'server')} up, behind {count(gateways.size, 'process', 'processes')}.
      </p>
      <Warnings gateways={[...gateways.values()]} />
      {servers.length === 0 && (
        <div class="empty">
          <strong>No servers yet.</strong>
          <p>
            Add one to <code>mcpServers</code> of the file that this gateway serves.
          </p>
        </div>
      )}
      <ul class="cards">
        {servers.map((server) => (
          <ServerCard key={server.name} {...server} />
        ))}
      </ul>
      <Gateways gateways={gateways} />
    </Live>
  )
}

function Warnings({ gateways }: { readonly gateways: readonly Item[] }) {
  const sentences = new Set(gateways.flatMap(({ warnings }) => textsIn(warnings)))
  if (sentences.size === 0) return null
  return (
    <details class="banner warn" open={sentences.size < 3}>
      <summary>{count(sentences.size, 'warning')}</summary>
      {[...sentences].map((sentence) => (
        <p key={sentence}>
          <bdi>{sentence}</bdi>
        </p>
      ))}
    </details>
  )
}

const STATES: Readonly<Record<string, readonly [text: string, kind: string]>> = {
  STATELESS: ['stateless', 'good'],
  STATEFUL: ['stateful', 'warn'],
  UNKNOWN: ['state unknown', ''],
}
const CONDITIONS: Readonly<Record<string, string>> = { up: 'good', starting: 'warn' }

function ServerCard({ name, item, links, inFlight, calls, failures }: JoinedServer) {
  const condition = String(item['condition'])
  const [state, kind] = STATES[String(item['state'])] ?? []
  const { title, version } = objectIn(item['server'])
  return (
    <li class="card">
      <div class="row">
        <div>
          <h2>
            <bdi>{name}</bdi>
          </h2>
          {(title ?? version) !== undefined && (
            <p class="quiet">
              <bdi>{[title, version].filter(Boolean).map(String).join(' ')}</bdi>
            </p>
          )}
        </div>
        <p class="tags">
          <span class={`tag ${CONDITIONS[condition] ?? 'bad'}`}>{condition}</span>
          {state !== undefined && condition === 'up' && <span class={`tag ${kind}`}>{state}</span>}
        </p>
      </div>
      {item['why'] !== undefined && (
        <p class="banner bad">
          <bdi>{[item['why'], item['advice']].filter(Boolean).map(String).join(' ')}</bdi>
        </p>
      )}
      <HourChart calls={calls} failures={failures} />
      <dl class="facts">
        <dt>Address</dt>
        <dd>
          <bdi class="mono">{textOf(item['address'], 'none')}</bdi>
        </dd>
        {item['revision'] !== undefined && (
          <>
            <dt>Revision</dt>
            <dd>
              {textOf(item['revision'])}, {item['era'] === 'modern' ? 'stateless era' : 'session era'}
            </dd>
            <dt>Offers</dt>
            <dd>{offersText(objectIn(item['offers']))}</dd>
            <dt>In use</dt>
            <dd>
              {item['transport'] === 'stdio' ? count(links, 'process', 'processes') : count(links, 'connection')},{' '}
              {count(inFlight, 'request')} under way
              {item['isShared'] === true ? ', shared by callers' : ', one for each caller'}
            </dd>
          </>
        )}
      </dl>
      <Evidence verdict={objectIn(item['verdict'])} />
      <Cells cells={item['clients']} />
    </li>
  )
}

/** Why a server counts as stateful or stateless. */
function Evidence({ verdict }: { readonly verdict: Item }) {
  const { confidence, message, protocol, process } = verdict
  const reasons = [...textsIn(protocol), ...textsIn(process)]
  if (message === undefined) return null
  return (
    <details>
      <summary>
        <bdi>{textOf(message)}</bdi> <span class="tag">{Math.round(Number(confidence) * 100)} % sure</span>
      </summary>
      {reasons.map((reason) => (
        <p key={reason} class="quiet">
          <bdi>{reason}</bdi>
        </p>
      ))}
    </details>
  )
}

const WORKS: Readonly<Record<string, string>> = { everything: 'good', limited: 'warn', nothing: 'bad' }

/** What clients of both eras can do with a server, and why not everything. */
function Cells({ cells }: { readonly cells: unknown }) {
  if (!Array.isArray(cells)) return null
  return (
    <ul class="cells">
      {cells.map(objectIn).map(({ client, works, limits }) => (
        <li key={String(client)}>
          <span>{client === 'modern' ? 'Stateless clients' : 'Session clients'}</span>
          <span>
            <span class={`tag ${WORKS[String(works)] ?? ''}`}>{String(works)}</span>{' '}
            <span class="quiet">
              {(Array.isArray(limits) ? limits : []).map((limit) => String(objectIn(limit)['because'])).join('; ')}
            </span>
          </span>
        </li>
      ))}
    </ul>
  )
}

/** The processes that answer, those that this page has seen before, and configured ones that are missing. */
function Gateways({ gateways }: { readonly gateways: ReadonlyMap<string, Item> }) {
  const seen = useRef(new Map<string, Item>())
  for (const [id, item] of gateways) seen.current.set(id, item)
  const missing = new Map(
    [...gateways.values()]
      .flatMap(({ missing: found }) => (Array.isArray(found) ? (found as readonly unknown[]) : []))
      .map((each) => {
        const { address, why } = objectIn(each)
        return [String(address), String(why)] as const
      }),
  )
  const rows = [...seen.current].toSorted(([, one], [, other]) => Number(one['startedAt']) - Number(other['startedAt']))
  return (
    <section class="card" aria-labelledby="gateways">
      <h2 id="gateways">Gateways</h2>
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col">Since</th>
            <th scope="col">Calls</th>
            <th scope="col">Servers</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([id, item]) => (
            <tr key={id}>
              <td>
                <bdi class="mono">
                  {String(item['host'])} · {String(item['pid'])}
                </bdi>{' '}
                {!gateways.has(id) && <span class="tag bad">gone</span>}
                {gateways.has(id) && item['ready'] !== true && <span class="tag warn">not ready</span>}
              </td>
              <td>{timeText(Number(item['startedAt']))}</td>
              <td>
                {String(item['inFlight'])} under way, {String(item['waiting'])} waiting for an answer
              </td>
              <td>
                {String(item['up'])} of {String(item['servers'])} up
              </td>
            </tr>
          ))}
          {[...missing].map(([address, why]) => (
            <tr key={address}>
              <td>
                <bdi class="mono">{address}</bdi> <span class="tag bad">missing</span>
              </td>
              <td colSpan={3}>
                <bdi>{why}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const OFFERS = ['tool', 'prompt', 'resource'] as const

function offersText(offers: Item): string {
  const found = OFFERS.map((one) => [one, Number(offers[`${one}s`] ?? 0)] as const).filter(([, number]) => number > 0)
  return found.length === 0 ? 'nothing' : found.map(([one, number]) => count(number, one)).join(', ')
}

function timeText(ms: number): string {
  return new Date(ms).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' })
}

function objectIn(value: unknown): Item {
  return typeof value === 'object' && value !== null ? (value as Item) : {}
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
