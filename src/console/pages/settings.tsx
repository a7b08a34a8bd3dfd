/** The file as it counts now: what is set, the defaults, the problems at their lines, and what a reload would change. */
import { Live } from '../parts/live.tsx'
import { type Item, textOf, useTopic } from '../topic.ts'

export function Settings() {
  const state = useTopic('settings')
  const items = state.items ?? new Map<string, Item>()
  const { file, pid, problems } = items.get('file') ?? {}
  const servers = [...items].filter(([key]) => key.startsWith('server/'))
  return (
    <Live title="Settings" state={state}>
      <p class="lead">
        {typeof file === 'string' ? (
          <>
            As <code>{file}</code> counts now. Defaults are grey.
          </>
        ) : (
          'The configuration is an object of a program. Defaults are grey.'
        )}
      </p>
      <Problems problems={problems} />
      {items.has('reload') && <Reload item={items.get('reload') ?? {}} pid={Number(pid)} />}
      <section class="card" aria-labelledby="of-gateway">
        <h2 id="of-gateway">Gateway</h2>
        <Rows rows={items.get('gateway')?.['rows']} />
      </section>
      {servers.map(([key, item]) => (
        <details key={key} class="card">
          <summary>
            <strong>
              <bdi>{String(item['name'])}</bdi>
            </strong>{' '}
            <bdi class="mono">{String(item['address'])}</bdi> <ChangedCount rows={item['rows']} />
          </summary>
          <Rows rows={item['rows']} />
        </details>
      ))}
    </Live>
  )
}

interface SettingRow {
  readonly name: string
  readonly value: string
  readonly isDefault: boolean
}

function rowsIn(rows: unknown): readonly SettingRow[] {
  return Array.isArray(rows) ? (rows as readonly SettingRow[]) : []
}

function ChangedCount({ rows }: { readonly rows: unknown }) {
  const set = rowsIn(rows).filter(({ isDefault }) => !isDefault).length
  return <span class="tag">{set === 0 ? 'defaults' : `${set} set`}</span>
}

/** What is set comes first. */
function Rows({ rows }: { readonly rows: unknown }) {
  const sorted = rowsIn(rows).toSorted((one, other) => Number(one.isDefault) - Number(other.isDefault))
  return (
    <table class="settings">
      <thead>
        <tr>
          <th scope="col">Setting</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {sorted.map(({ name, value, isDefault }) => (
          <tr key={name} class={isDefault ? 'default' : ''}>
            <td>
              <code>{name}</code>
            </td>
            <td>
              <bdi class="mono">{value}</bdi> {isDefault && <span class="tag">default</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Problems({ problems }: { readonly problems: unknown }) {
  if (!Array.isArray(problems) || problems.length === 0) return null
  return (
    <ul class="page">
      {(problems as readonly Item[]).map(({ kind, line, key, sentence }, at) => (
        <li key={at} class={`banner ${kind === 'error' ? 'bad' : 'warn'}`}>
          {line !== null && line !== undefined && <strong>Line {textOf(line)}: </strong>}
          <code>
            <bdi>{String(key)}</bdi>
          </code>{' '}
          <bdi>{String(sentence)}</bdi>
        </li>
      ))}
    </ul>
  )
}

const CHANGES = [
  ['added', 'Servers that are added'],
  ['removed', 'Servers that are removed'],
  ['changed', 'Servers that get a new start'],
  ['settings', 'Settings of the gateway that change'],
  ['restart', 'Settings that count from the next start on'],
] as const

/** What is in the file now, and not yet served. */
function Reload({ item, pid }: { readonly item: Item; readonly pid: number }) {
  const problems = Array.isArray(item['problems']) ? item['problems'] : []
  const rows = CHANGES.map(([key, title]) => [title, namesIn(item[key])] as const).filter(
    ([, names]) => names.length > 0,
  )
  const isRefused = !('added' in item)
  return (
    <section class="card" aria-labelledby="reload">
      <h2 id="reload">A reload</h2>
      {isRefused && <p>The file cannot be used as it is now. A reload would change nothing.</p>}
      {!isRefused && rows.length === 0 && <p class="quiet">would change nothing: the file is served as it is.</p>}
      <Problems problems={problems} />
      {rows.length > 0 && (
        <>
          <dl class="facts">
            {rows.map(([title, names]) => (
              <div key={title} class="fact">
                <dt>{title}</dt>
                <dd>
                  <bdi>{names.join(', ')}</bdi>
                </dd>
              </div>
            ))}
          </dl>
          <p class="quiet">
            Reload it with <code>kill -HUP {pid}</code>.
          </p>
        </>
      )}
    </section>
  )
}

function namesIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
