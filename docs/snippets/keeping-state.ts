/** The code of docs/how-to/keeping-state.md. */
// #region imports
import { connect, type ConnectOptions, type Notice, plainLine, type Target } from 'pannier/client'
import { defaultJarPath, type Jar, type JarEntry, type JarStore, sqliteJar } from 'pannier/state'
// #endregion imports

// #region connect
/** One jar for the whole application, a principal for each user, a context for each conversation. */
export function openJar(path = defaultJarPath()): Jar {
  return sqliteJar({ path })
}

export interface Conversation {
  readonly user: string
  readonly id: string
}

export function connectIn({ user, id }: Conversation, target: Target, jar: JarStore, options: ConnectOptions = {}) {
  return connect(target, { ...options, jar, principal: user, context: id })
}

/** Deletes the session state of the conversation, for all servers. */
export function endConversation({ user, id }: Conversation, jar: JarStore): Promise<void> {
  return jar.endContext({ principal: user, context: id })
}
// #endregion connect

// #region notices
/** A notice about state as one line of a log. Servers choose the names. */
export function lineOf(notice: Notice): string | undefined {
  switch (notice.kind) {
    case 'unkept':
      return notice.reason
    case 'jar':
      return `${notice.news.kind}: ${notice.news.scope} state "${plainLine(notice.news.name)}". ${notice.news.reason}`
    default:
      return undefined
  }
}
// #endregion notices

// #region settings
/** For a settings page: the names under which servers keep state with this user, without values. */
export function keptFor(user: string, jar: Jar): Promise<readonly JarEntry[]> {
  return jar.list({ principal: user })
}

/** Returns the number of deleted names. */
export function forgetServer(user: string, server: string, jar: Jar): Promise<number> {
  return jar.clear({ principal: user, server })
}
// #endregion settings

// #region options
export function strictJar(path: string): Jar {
  return sqliteJar({
    path,
    maxBytes: 1024, // a name and its value
    maxNamesPerServer: 10,
    maxNames: 100, // of one principal
    maxAgeSeconds: 90 * 86_400, // since a server last set it
    sessionIdleSeconds: 86_400, // since a context was last used
    survivesPowerLoss: true,
  })
}
// #endregion options
