/**
 * The outbox of notices: a row for each open question and channel. A row is written with its question, so no crash loses it. A
 * process that sends a notice claims the row until its next attempt is due, and deletes it once it was delivered; so a notice may be
 * sent twice. A row without a next attempt was given up.
 */
import type { DueNotice, NoticeRef } from '../../engine.ts'
import { change, query, type Transaction } from '../driver.ts'
import { placedQuestions } from './open.ts'
import { keyOf, type TaskStore } from '../store.ts'

const BATCH = 20

/** Writes the notices of a question that is asked. */
export function* addNotices(store: TaskStore, place: number): Transaction<void> {
  const { sql, channels } = store
  for (const name of channels) {
    yield* change(
      `INSERT INTO ${sql.notices} (place, channel, name, due_at, attempts)
       VALUES (CAST($1 AS bigint), $2, $3, ${sql.now}, 0)`,
      [place, keyOf(store, name), name],
    )
  }
}

/** Claims notices that are due, and returns them. Notices of closed questions are removed. */
export async function claimNotices(store: TaskStore, retryMs: number): Promise<readonly DueNotice[]> {
  const { sql, driver, channels } = store
  if (channels.length === 0) return []
  const keys = channels.map((name) => keyOf(store, name))
  const due = `n.due_at <= ${sql.now} AND ${sql.among('n.channel', '$1', 'text')}`
  if ((await driver.read(`SELECT 1 FROM ${sql.notices} AS n WHERE ${due} LIMIT 1`, [keys])).length === 0) return []
  const claimed = await driver.transaction(function* () {
    const chosen = `SELECT n.place, n.channel FROM ${sql.notices} AS n WHERE ${due}
      ORDER BY n.due_at LIMIT ${BATCH} ${sql.skipLocked}`
    return yield* query<{ place: string | number; name: string; attempts: number }>(
      `UPDATE ${sql.notices} SET due_at = ${sql.now} + CAST($2 AS bigint), attempts = attempts + 1
       WHERE (place, channel) IN (${chosen}) RETURNING place, name, attempts`,
      [keys, retryMs],
    )
  })
  const questions = await placedQuestions(
    store,
    claimed.map(({ place }) => Number(place)),
  )
  const gone = claimed.filter(({ place }) => !questions.has(Number(place)))
  for (const { place, name } of gone) await removeNotice(store, { place: Number(place), channel: name })
  const inOrder = claimed.toSorted((one, other) => Number(one.place) - Number(other.place))
  return inOrder.flatMap(({ place, name, attempts }) => {
    const question = questions.get(Number(place))
    return question === undefined ? [] : [{ question, channel: name, attempt: attempts }]
  })
}

/** Removes a notice that was delivered. */
export async function removeNotice(store: TaskStore, { place, channel }: NoticeRef): Promise<void> {
  const { sql, driver } = store
  await driver.change(`DELETE FROM ${sql.notices} WHERE place = CAST($1 AS bigint) AND channel = $2`, [
    place,
    keyOf(store, channel),
  ])
}

/** Plans the next attempt of a notice; undefined gives it up. */
export async function postponeNotice(
  store: TaskStore,
  { place, channel }: NoticeRef,
  waitMs: number | undefined,
): Promise<void> {
  const { sql, driver } = store
  const at = waitMs === undefined ? 'NULL' : `${sql.now} + CAST(${Math.round(waitMs)} AS bigint)`
  await driver.change(`UPDATE ${sql.notices} SET due_at = ${at} WHERE place = CAST($1 AS bigint) AND channel = $2`, [
    place,
    keyOf(store, channel),
  ])
}
