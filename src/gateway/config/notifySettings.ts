/** Reads the channels of a file by which people are notified of questions: `notify` under `"gateway"`. */
import { chat, mail, type NoticeChannel, webhook } from '../../server/index.ts'
import { type Check, listOf, type MemberChecks, refuse, shape, text } from './checks.ts'

/** A channel has one of `webhook`, `chat` and `mail`. */
export interface NotifySettings {
  /** The address of a program that gets signed requests. @default none */
  readonly webhook?: string
  /** The secret that signs them: at least 16 bytes as base64. @default none: a webhook needs one */
  readonly secret?: string
  /** The address of a chat's incoming webhook. @default none */
  readonly chat?: string
  /** The server for mails, such as `smtps://user:password@mail.example.com`. @default none */
  readonly mail?: string
  /** The sender of the mails. @default none: mail needs one */
  readonly from?: string
  /** Who gets the mails. @default none: mail needs one */
  readonly to?: string
  /** The name of the channel in the log. @default its kind and its place in the list */
  readonly name?: string
}

const members: MemberChecks<NotifySettings> = {
  webhook: text(),
  secret: text(),
  chat: text(),
  mail: text(),
  from: text(),
  to: text(),
  name: text(),
}

const channelMembers = shape<NotifySettings>(members)

const channel: Check<NotifySettings> = (value, place) => {
  const settings = channelMembers(value, place)
  if (settings === undefined) return undefined
  const fault = channelFault(settings)
  return fault === undefined ? settings : refuse(place, fault)
}

function channelFault(settings: NotifySettings): string | undefined {
  try {
    channelOf(settings, 0)
    return undefined
  } catch (error) {
    // The messages name no value, which may be a secret.
    return error instanceof TypeError ? `cannot be used. ${error.message}` : 'cannot be used: its secret is no base64.'
  }
}

export const notify: Check<readonly NotifySettings[]> = listOf(channel)

/** The channel of these settings. Throws a TypeError that names the missing members. */
export function channelOf(settings: NotifySettings, at: number): NoticeChannel {
  const { webhook: hook, secret, chat: room, mail: smtp, from, to } = settings
  if ([hook, room, smtp].filter((each) => each !== undefined).length !== 1)
    throw new TypeError('A channel has one of "webhook", "chat" and "mail".')
  if (hook !== undefined) {
    if (secret === undefined) throw new TypeError('A webhook needs a "secret".')
    return webhook({ url: hook, secret, name: settings.name ?? `webhook ${at + 1}` })
  }
  if (room !== undefined) return chat({ url: room, name: settings.name ?? `chat ${at + 1}` })
  if (from === undefined || to === undefined) throw new TypeError('Mail needs "from" and "to".')
  return mail({ smtp: smtp ?? '', from, to, name: settings.name ?? `mail ${at + 1}` })
}
