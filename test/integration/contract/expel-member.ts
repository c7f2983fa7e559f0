import { connect } from 'node:net';

const LEAVE_GROUP = 13;
const VERSION = 1;

/**
 * Sends a leave request for the member, which any connection may do: the broker removes the member
 * at once.
 */
export function expelMember(broker: string, groupId: string, memberId: string): Promise<void> {
  const [host = '', port = ''] = broker.split(':');
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port) }, () =>
      socket.write(leaveRequest(groupId, memberId)),
    );
    socket.once('error', reject);
    socket.once('data', (answer) => {
      socket.destroy();
      const code = answer.readInt16BE(12);
      if (code === 0) resolve();
      else reject(new Error(`The broker answered ${code} to LeaveGroup.`));
    });
  });
}

function leaveRequest(groupId: string, memberId: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt16BE(LEAVE_GROUP, 0);
  head.writeInt16BE(VERSION, 2);
  const body = Buffer.concat([head, text('contract'), text(groupId), text(memberId)]);
  const size = Buffer.alloc(4);
  size.writeInt32BE(body.length);
  return Buffer.concat([size, body]);
}

function text(value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeInt16BE(Buffer.byteLength(value));
  return Buffer.concat([length, Buffer.from(value)]);
}
