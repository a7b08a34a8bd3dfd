/** Calls that run and calls that ended lately; one of them as a timeline. */
import { useState } from 'preact/hooks'
import { linkTo, type PageProps } from '../address.ts'
import { Live } from '../parts/live.tsx'
import { useTopic } from '../topic.ts'
import { isInner, type Journey, journeysOf } from './journeys.ts'
import { duration, Timeline } from './timeline.tsx'

const OUTCOMES = ['running', 'waiting', 'complete', 'failed', 'refused', 'cancelled'] as const
const TONES: Readonly<Record<string, string>> = { complete: 'good', waiting: 'warn', failed: 'bad', refused: 'bad' }

interface CallFilter {
  readonly server: string
  readonly tool: string
  readonly caller: string
  readonly outcome: string
}

const ALL: CallFilter = { server: '', tool: '', caller: '', outcome: '' }

export function Calls({ path: [opened] }: PageProps) {
  const [filter, setFilter] = useState(ALL)
  const { outcome, ...query } = opened === undefined ? filter : ALL
  const state = useTopic('calls', Object.fromEntries(Object.entries(query).filter(([, text]) => text !== '')))
  const journeys = journeysOf(state.items ?? new Map())
  if (opened !== undefined) {
    const journey = journeys.find(({ rounds }) => rounds.some(({ key }) => key === opened))
    return (
      <Live title="Call" state={state}>
        <p>
          <a href={linkTo('calls')}>All calls</a>
        </p>
        {journey === undefined ? (
          <Gone />
        ) : (
          <Timeline journey={journey} tag={<OutcomeTag outcome={journey.outcome} />} />
        )}
      </Live>
    )
  }
  const shown = journeys.filter((journey) => outcome === '' || journey.outcome === outcome)
  return (
    <Live title="Calls" state={state}>
      <p class="lead">What runs, what waits for an answer, and what ended lately. Open a call to see its rounds.</p>
      <Filters filter={filter} change={(part) => setFilter({ ...filter, ...part })} />
      {shown.length === 0 ? (
        <div class="empty">
          <strong>No call.</strong>
          <p>Calls that pass through the gateway appear here. Each process keeps its last thousand.</p>
        </div>
      ) : (
        <ol class="card calls" aria-label="Calls">
          {shown.slice(0, 200).map((journey) => (
            <Row key={journey.key} journey={journey} />
          ))}
        </ol>
      )}
    </Live>
  )
}

function Row({ journey: { key, rounds, startedAt, endedAt, outcome } }: { readonly journey: Journey }) {
  const [first] = rounds
  if (first === undefined) return null
  const own = rounds.filter((round) => !isInner(round)).length
  return (
    <li>
      <a href={linkTo('calls', key)}>
        <bdi>{first.name ?? first.method}</bdi>
      </a>
      <OutcomeTag outcome={outcome} />
      <span class="quiet">
        <bdi>{first.server}</bdi>
        {own > 1 && ` · ${own} rounds`} · <bdi>{first.caller ?? first.client ?? 'anonymous'}</bdi>
      </span>
      <span class="quiet">
        <time dateTime={new Date(startedAt).toISOString()}>{new Date(startedAt).toLocaleTimeString()}</time>
        {endedAt !== undefined && ` · ${duration(endedAt - startedAt)}`}
      </span>
    </li>
  )
}

function OutcomeTag({ outcome }: { readonly outcome: string }) {
  return <span class={`tag ${TONES[outcome] ?? ''}`}>{outcome}</span>
}

interface FilterProps {
  readonly filter: CallFilter
  readonly change: (part: Partial<CallFilter>) => void
}

function Filters({ filter, change }: FilterProps) {
  const field = (name: 'server' | 'tool' | 'caller', label: string) => (
    <label>
      {label}
      <input
        type="search"
        name={name}
        value={filter[name]}
        maxLength={200}
        onChange={({ currentTarget }) => change({ [name]: currentTarget.value.trim() })}
      />
    </label>
  )
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {field('server', 'Server')}
      {field('tool', 'Tool has')}
      {field('caller', 'Caller has')}
      <label>
        Outcome
        <select value={filter.outcome} onChange={({ currentTarget }) => change({ outcome: currentTarget.value })}>
          <option value="">any</option>
          {OUTCOMES.map((outcome) => (
            <option key={outcome}>{outcome}</option>
          ))}
        </select>
      </label>
    </form>
  )
}

function Gone() {
  return (
    <div class="empty">
      <strong>This call is not here.</strong>
      <p>Its process has ended, or a thousand calls came after it.</p>
    </div>
  )
}
