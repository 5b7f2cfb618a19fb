// What a process has inherited: which daemon, and the grant of the session that it was started under.
//
// The one place of the package that reads the environment.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** The variables that processes of a session inherit, as far as they are known. */
export interface Inherited {
  LINESIDE_SOCKET?: string;
  LINESIDE_SESSION?: string;
  LINESIDE_GRANT?: string;
  TRACEPARENT?: string;
}

/** The socket of the daemon that the environment names, as the command finds it. */
export function defaultSocket(environment: NodeJS.ProcessEnv = process.env): string {
  const place = (name: string) => {
    const value = environment[name];
    return value !== undefined && path.isAbsolute(value) ? value : undefined;
  };
  const named = place('LINESIDE_SOCKET');
  if (named !== undefined) return named;
  const runtime = place('XDG_RUNTIME_DIR');
  if (runtime !== undefined) return path.join(runtime, 'lineside/lineside.sock');
  const { uid, homedir: own } = os.userInfo();
  const stateIn = (home: string) => path.join(home, '.local/state/lineside');
  const states = place('XDG_STATE_HOME');
  const home = place('HOME') ?? own;
  if (!home && states === undefined)
    throw new Error(
      'cannot tell where the daemon is: the system knows no home of this user, and none of LINESIDE_SOCKET, XDG_RUNTIME_DIR, ' +
        'XDG_STATE_HOME and HOME holds an absolute path; set LINESIDE_SOCKET',
    );
  const state = states === undefined ? stateIn(home) : path.join(states, 'lineside');
  const folder = `/run/user/${uid}`;
  if (own && state === stateIn(own) && isPrivate(folder, uid)) return path.join(folder, 'lineside/lineside.sock');
  return path.join(state, 'lineside.sock');
}

/** The grant that this process has inherited. */
export function inheritedGrant(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const grant = environment.LINESIDE_GRANT;
  if (grant === undefined || grant === '') return undefined;
  if (/^[\x21-\x7e]+$/.test(grant)) return grant;
  throw new Error('LINESIDE_GRANT does not hold a grant; unset it to be a root session, or start the process again');
}

/** Whether the environment says which daemon is asked, or below which session. */
export function isInherited(environment: NodeJS.ProcessEnv = process.env): boolean {
  return Boolean(environment.LINESIDE_SOCKET || environment.LINESIDE_GRANT);
}

/** Whether it is a folder of the user that no other one may enter. */
function isPrivate(folder: string, uid: number): boolean {
  try {
    const found = fs.lstatSync(folder);
    return found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0;
  } catch {
    return false;
  }
}
