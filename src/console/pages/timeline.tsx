/** One call: its rounds as lanes by process, and what happened in which order. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { count } from '../parts/chart.tsx'
import { isInner, type Journey, type Round } from './journeys.ts'

const WIDTH = 1000
const LANE = 26
/** A round takes milliseconds beside minutes of waiting, and has to be seen. */
const MIN_BAR = 8

interface TimelineProps {
  readonly journey: Journey
  readonly tag: ComponentChildren
}

export function Timeline({ journey, tag }: TimelineProps) {
  const { rounds, startedAt, endedAt } = journey
  const now = useNow(endedAt === undefined)
  const [first] = rounds
  if (first === undefined) return null
  const until = Math.max(endedAt ?? now, startedAt + 1)
  const processes = [...new Set(rounds.map(({ process }) => process))]
  const nameOf = (process: string) =>
    processes.includes(process) ? `Process ${processes.indexOf(process) + 1}` : 'a process that is gone'
  return (
    <>
      <section class="card" aria-label="Call">
        <div class="row">
          <h2>
            <bdi>{first.name ?? first.method}</bdi> at <bdi>{first.server}</bdi>
          </h2>
          {tag}
        </div>
        <Facts first={first} took={until - startedAt} isOver={endedAt !== undefined} />
        <Lanes rounds={rounds} processes={processes} from={startedAt} until={until} nameOf={nameOf} />
      </section>
      <section class="card" aria-label="Events">
        <h2>Events</h2>
        <ol class="events">
          {eventsOf(journey, nameOf).map(({ at, text, tone }, index) => (
            <li key={index} class={tone}>
              <span class="mono quiet">+{duration(at - startedAt)}</span>
              <bdi>{text}</bdi>
            </li>
          ))}
        </ol>
      </section>
    </>
  )
}

interface FactsProps {
  readonly first: Round
  readonly took: number
  readonly isOver: boolean
}

function Facts({ first, took, isOver }: FactsProps) {
  const { caller, client, era, route, startedAt, traceId } = first
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Caller', caller ?? 'anonymous'],
    ['Client', client && (era === 'legacy' ? `${client}, in a session` : client)],
    ['Address', route],
    ['Started', new Date(startedAt).toLocaleString()],
    [isOver ? 'Took' : 'So far', duration(took)],
    ['Trace', traceId],
    ['Arguments', first.arguments && JSON.stringify(first.arguments, null, 2)],
  ]
  return (
    <dl class="facts">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <>
            <dt>{name}</dt>
            <dd>{name === 'Arguments' ? <pre>{value}</pre> : <bdi>{value}</bdi>}</dd>
          </>
        ),
      )}
    </dl>
  )
}

interface LanesProps {
  readonly rounds: readonly Round[]
  readonly processes: readonly string[]
  readonly from: number
  readonly until: number
  readonly nameOf: (process: string) => string
}

function Lanes({ rounds, processes, from, until, nameOf }: LanesProps) {
  const x = (at: number) => ((at - from) / (until - from)) * (WIDTH - MIN_BAR)
  const own = rounds.filter((round) => !isInner(round)).length
  return (
    <figure class="lanes">
      {processes.map((process) => (
        <div key={process} class="lane">
          <span class="quiet" title={process}>
            {nameOf(process)}
          </span>
          <svg viewBox={`0 0 ${WIDTH} ${LANE}`} preserveAspectRatio="none" aria-hidden="true">
            <line class="axis" x1="0" x2={WIDTH} y1={LANE / 2} y2={LANE / 2} />
            {rounds.map((round) =>
              round.process === process ? (
                <rect
                  key={round.key}
                  class={`round ${toneOf(round)}`}
                  x={x(round.startedAt)}
                  width={Math.max(MIN_BAR, x(endOf(round, until)) - x(round.startedAt))}
                  y={round.within === undefined ? 3 : 8}
                  height={round.within === undefined ? LANE - 6 : LANE - 16}
                  rx="3"
                />
              ) : null,
            )}
          </svg>
        </div>
      ))}
      <figcaption class="quiet">{count(own, 'round')}. Gaps are waits for an answer.</figcaption>
    </figure>
  )
}

interface TimelineEvent {
  readonly at: number
  readonly text: string
  readonly tone: string
}

function eventsOf({ rounds }: Journey, nameOf: (process: string) => string): TimelineEvent[] {
  let number = 0
  let asked: number | undefined
  const events = rounds.flatMap((round): TimelineEvent[] => {
    const { startedAt, forwardedBy, within, process, ms, outcome, error } = round
    const isSent = isInner(round)
    if (!isSent) number += 1
    const title =
      forwardedBy !== undefined
        ? `${nameOf(process)} runs the round for ${nameOf(forwardedBy)}`
        : within !== undefined
          ? `${nameOf(process)} sends the call to the server`
          : `Round ${number} begins in ${nameOf(process)}`
    const shown = isSent ? [] : round.events
    const end = ms === undefined ? undefined : endText(outcome, error)
    return [
      { at: startedAt, text: title, tone: '' },
      ...shown.map(({ ms: after, kind, text }) => ({ at: startedAt + after, text: `${kind}: ${text}`, tone: kind })),
      ...(end === undefined || isSent ? [] : [{ at: startedAt + (ms ?? 0), text: end, tone: toneOf(round) }]),
    ]
  })
  return events
    .toSorted((a, b) => a.at - b.at)
    .map((event) => {
      if (event.tone === 'asked') asked ??= event.at
      if (event.tone !== 'answered' || asked === undefined) return event
      const waited = duration(event.at - asked)
      asked = undefined
      return { ...event, text: `${event.text}, after ${waited}` }
    })
}

function endText(outcome: string | undefined, error: string | undefined): string {
  if (outcome === 'asked') return 'The round ends with its questions. The state is with the client.'
  return error === undefined ? `Ends: ${outcome ?? 'complete'}` : `Ends: ${outcome ?? 'failed'}, ${error}`
}

function toneOf({ ms, outcome }: Round): string {
  if (ms === undefined) return 'running'
  if (outcome === 'asked') return 'asked'
  return outcome === 'complete' ? 'good' : 'bad'
}

function endOf({ startedAt, ms }: Round, until: number): number {
  return ms === undefined ? until : startedAt + ms
}

function useNow(isLive: boolean): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    if (!isLive) return undefined
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [isLive])
  return now
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  return minutes < 60
    ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
