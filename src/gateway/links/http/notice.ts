/**
 * A message without a response: a notification, or the answer to a question. It is retried if its connection breaks,
 * because a server may get it twice. It is not retried after a timeout.
 */
import { SdkHttpError } from '@modelcontextprotocol/client'
import { unref } from '../../../protocol/index.ts'
import { SessionLost } from '../lostSession.ts'
import type { Exchange, Reply } from './exchange.ts'

/** Timeout for the HTTP response. */
const RESPONSE_MS = 60_000
const MAX_SENDS = 3

/** `post` sends the message. */
export async function sendNotice(
  post: (onOpen: (exchange: Exchange) => void) => Promise<Reply>,
  isClosed: () => boolean,
): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isLate = false
  const onOpen = (exchange: Exchange): void => {
    const giveUp = (): void => {
      isLate = true
      exchange.cancel()
    }
    clearTimeout(timer)
    timer = unref(setTimeout(giveUp, RESPONSE_MS))
  }
  for (let sends = 1; ; sends++) {
    try {
      const reply = await post(onOpen)
      return void (await reply.text().catch(() => {})) // it has been delivered
    } catch (error) {
      const isReply = error instanceof SdkHttpError || error instanceof SessionLost
      if (isReply || isLate || isClosed() || sends === MAX_SENDS) throw error
    } finally {
      clearTimeout(timer)
    }
  }
}
